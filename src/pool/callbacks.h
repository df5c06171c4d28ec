#pragma once

// The thread that runs users' callbacks, one after the other and with no lock held. Tickets outlive their pool and may
// get callbacks even then. Those run on the thread that adds them.

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tenure {

// Thread-safe. Calls run in the order in which they were added.
class Callbacks {
 public:
  // Small, and without memory of its own, because hundreds of thousands may wait.
  struct Call {
    std::shared_ptr<void> subject;  // the object to call; kept alive until the call has run
    void (*run)(void* subject);
  };

  Callbacks();
  ~Callbacks();
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

  void post(std::function<void()> call);
  // For many calls in a row, and for callers with a lock: adds the call but wakes the thread only in wake(). Returns
  // false if the thread has ended or is about to. Then the caller has to run the call.
  [[nodiscard]] bool take_asleep(Call& call);
  void wake();

  // Who is told when a user's callback throws. Before the first one is put here.
  void report_throws(std::function<void(const std::string&)> report) { report_throw_ = std::move(report); }
  // Calls a user's code. What it throws is reported, and goes no further. Any thread.
  template <class Call>
  void guard(const Call& call) const {
    try {
      return call();
    } catch (const std::exception& exception) {
      threw(exception.what());
    } catch (...) {
      threw("something that is no std::exception");
    }
  }

  // True if the caller is a callback.
  bool on_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

  // Runs everything that was posted, and ends the thread. Not to be called from a callback. Idempotent.
  void close();

 private:
  void serve();
  void threw(const std::string& what) const;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Call> queue_;  // guarded by mutex_
  bool closed_ = false;      // guarded by mutex_
  std::function<void(const std::string&)> report_throw_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tenure
