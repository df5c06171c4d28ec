#pragma once

// The thread that runs the callbacks of one Log. Engines with threads shared by several Logs pass their answers to it.
// So a slow callback delays only its own Log and never the thread that commits for all, and close() has one place to
// end callbacks.

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

// Thread-safe. Calls of a lane run in the order in which they were posted, and calls of the beat lane before all other
// waiting calls. Calls posted after close() are destroyed without running.
class CallbackThread {
 public:
  using Call = std::function<void()>;
  // A successful append to be answered. Not a Call, because a Call that holds a callback needs an allocation.
  struct Appended {
    Log::AppendDone done;
    Position position = 0;
  };

  // From this many waiting calls on, an engine refuses appends with Errc::unavailable, until callbacks catch up.
  static constexpr std::size_t kCrowdedAt = 1U << 18;

  CallbackThread();
  ~CallbackThread();
  CallbackThread(const CallbackThread&) = delete;
  CallbackThread& operator=(const CallbackThread&) = delete;

  void post(Lane lane, Call call);
  // Takes one lock and one wake-up for all. Leaves `answers` empty, with its capacity.
  void post(Lane lane, std::vector<Appended>& answers);

  bool crowded() const { return waiting_.load(std::memory_order_relaxed) >= kCrowdedAt; }
  bool closed() const { return closed_.load(std::memory_order_acquire); }

  // Waits for the running call and destroys the others. Never call it from a callback. Idempotent.
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
