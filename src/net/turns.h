#pragma once

// What happens on a reactor happens in turns, one at a time. The thread that waits at the sockets takes one for
// whatever comes there; another thread takes one when it brings work and nobody has the turn, so that nobody has to be
// woken. Work that is posted meanwhile is done before the turn ends.

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tenure::net {

// Thread-safe. May outlive the reactor: the thread that looks up a name shares it.
class Turns {
 public:
  using Work = std::function<void()>;

  // `wake` has the thread at the sockets call take() soon. It is called under a lock, and never once closed.
  Turns(Work wake, bool guests) : wake_(std::move(wake)), guests_(guests) {}

  void post(Work work);
  // At once if nobody has the turn, and guests are welcome.
  void run_or_post(Work work);
  // By the thread at the sockets alone; waits for a guest. What the turn has left to call is called when it is over.
  void take(const Work& work = nullptr);
  // In a turn: to be called when it is over, by the thread at the sockets.
  void call_after(Work call) { after_.push_back(std::move(call)); }

  // Waits for the turn that somebody has. No work begins after it, nor any call. Not in a turn.
  void close();
  bool closed() const;

 private:
  void begin();
  void finish();
  bool mine() const { return std::this_thread::get_id() == holder_.load(std::memory_order_relaxed); }

  const Work wake_;
  const bool guests_;
  std::mutex turn_;
  std::atomic<std::thread::id> holder_;  // of turn_; for those who ask whether it is themselves
  std::vector<Work> after_;              // guarded by turn_
  std::vector<Work> round_;              // guarded by turn_; empty between turns, for its memory
  std::vector<Work> calls_;              // of the thread at the sockets; empty between its calls, likewise

  mutable std::mutex mutex_;  // taken after turn_
  std::vector<Work> queue_;   // this and all below: guarded by mutex_
  bool open_ = false;         // somebody has the turn, and will look into the queue once more
  bool closed_ = false;
};

}  // namespace tenure::net
