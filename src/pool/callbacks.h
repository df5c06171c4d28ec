#pragma once

// The thread on which users' callbacks run, one after the other and with no lock held. Tickets outlive their pool and
// may be given callbacks even then: those run where they were given.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tenure {

// Thread-safe. Calls run in the order in which they were put here.
class Callbacks {
 public:
  // Small, and without memory of its own: hundreds of thousands may wait.
  struct Call {
    std::shared_ptr<void> subject;  // what is called; it lives until it has run
    void (*run)(void* subject);
  };

  Callbacks();
  ~Callbacks();
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

  void post(std::function<void()> call);
  // For many in a row, and for one who has a lock: takes it to wait for wake(), unless the thread comes by. False once
  // the thread has ended or is about to: then it is left to the caller.
  [[nodiscard]] bool take_asleep(Call& call);
  void wake();

  // Whether the caller is one of the callbacks.
  bool on_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

  // Runs what has been posted, and ends the thread. Not to be called from a callback. Idempotent.
  void close();

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Call> queue_;  // guarded by mutex_
  bool closed_ = false;      // guarded by mutex_
  std::thread thread_;       // last: it uses all of the above
};

}  // namespace tenure
