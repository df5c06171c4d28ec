#pragma once

// The thread on which one Log runs its callbacks. Engines whose Logs share a thread hand their answers over here, so
// that a slow callback holds up its own Log and never the thread that commits for everyone, and so that close() has one
// place to end them.

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/front_queue.h"
#include "log/log.h"

namespace tenure {

// Thread-safe. Calls of a lane run in the order they were posted, and those of the beat lane before any other that
// waits. What is posted after close() is destroyed unrun.
class CallbackThread {
 public:
  using Call = std::function<void()>;
  // An append that succeeded, to be answered. It is no Call, since one that holds another takes memory of its own.
  struct Appended {
    Log::AppendDone done;
    Position position = 0;
  };

  // From this many waiting calls on, an engine refuses appends with Errc::unavailable until callbacks catch up.
  static constexpr std::size_t kCrowdedAt = 1U << 18;

  CallbackThread();
  ~CallbackThread();
  CallbackThread(const CallbackThread&) = delete;
  CallbackThread& operator=(const CallbackThread&) = delete;

  void post(Lane lane, Call call);
  // One lock and one wake-up for all of them. Leaves `answers` empty, with its capacity.
  void post(Lane lane, std::vector<Appended>& answers);

  bool crowded() const { return waiting_.load(std::memory_order_relaxed) >= kCrowdedAt; }
  bool closed() const { return closed_.load(std::memory_order_acquire); }

  // Waits for the call that is running and destroys the others unrun. Never from a callback. Idempotent.
  void close();

 private:
  // One of the two is set.
  struct Item {
    Call call;
    Appended answer;
  };
  using Queue = FrontQueue<Item>;

  void serve();
  void take(std::vector<Item>& run);

  std::atomic<std::size_t> waiting_ = 0;
  std::atomic<bool> closed_ = false;
  std::once_flag closing_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::array<Queue, 2> queues_;  // by lane; guarded by mutex_
  std::thread thread_;           // last: it uses all of the above
};

}  // namespace tenure
