#pragma once

// Leader and followers: a thread that reads news from a loop can also run the work that the news brings. Before it
// starts, it leaves the loop to another thread. So the thread that learns of a job can run it, and no other thread has
// to be woken on the critical path.

#include <functional>
#include <utility>

namespace tenure {

class Errands {
 public:
  virtual ~Errands() = default;

  // The object of the calling thread. Null for most threads.
  static Errands* here() { return here_; }

  // Runs `errand` on the calling thread, after it has returned to its loop and left the loop to another thread. Returns
  // false if no thread can take its place.
  virtual bool take(std::function<void()> errand) = 0;

 protected:
  static void set_here(Errands* errands) { here_ = errands; }

 private:
  inline static thread_local Errands* here_ = nullptr;
};

}  // namespace tenure
