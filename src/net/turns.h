#pragma once

// A reactor works in turns, one at a time. The thread that waits at the sockets takes a turn for each event there.
// Another thread with work takes a turn itself if the reactor is idle, so that no thread has to be woken. Work that is
// posted during a turn runs before the turn ends.

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tenure::net {

// Thread-safe. May outlive the reactor: a thread that looks up a host name shares it.
class Turns {
 public:
  using Work = std::function<void()>;

  // `wake` makes the thread at the sockets call take() soon. It is called under a lock, and never after close().
  // `guests`: other threads may take turns.
  Turns(Work wake, bool guests) : wake_(std::move(wake)), guests_(guests) {}

  void post(Work work);
  // Runs the work at once if no turn is running and guests may take turns.
  void run_or_post(Work work);
  // For the thread at the sockets alone. Waits until a guest has finished. Afterwards it makes the calls that were left
  // by call_after().
  void take(const Work& work = nullptr);
  // Only in a turn. The thread at the sockets makes the call when the turn is over.
  void call_after(Work call) { after_.push_back(std::move(call)); }

  // Waits for the running turn. Afterwards no work and no call begins. Never call it in a turn.
  void close();
  bool closed() const;

 private:
  void begin();
  void finish();
  bool mine() const { return std::this_thread::get_id() == holder_.load(std::memory_order_relaxed); }

  const Work wake_;
  const bool guests_;
  std::mutex turn_;
  std::atomic<std::thread::id> holder_;  // the thread that holds turn_
  std::vector<Work> after_;              // guarded by turn_
  std::vector<Work> round_;              // guarded by turn_; kept between turns for its memory
  std::vector<Work> calls_;              // used by the thread at the sockets; kept likewise

  mutable std::mutex mutex_;  // taken after turn_
  std::vector<Work> queue_;   // this and all below: guarded by mutex_
  bool open_ = false;         // a turn runs, and will look into the queue once more
  bool closed_ = false;
};

}  // namespace tenure::net
