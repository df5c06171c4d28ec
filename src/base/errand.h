#pragma once

// A thread that waits at a loop for what comes, and has another that can take its place there, may be asked to do what
// came by itself, however long that takes: it leaves the loop to the other one first. So the thread that learns of a
// job can run it, and nobody has to be woken for it who would have to be waited for (leader and followers).

#include <functional>
#include <utility>

namespace tenure {

class Errands {
 public:
  virtual ~Errands() = default;

  // Those of the calling thread; null for most threads.
  static Errands* here() { return here_; }

  // Runs `errand` on the calling thread, as soon as it has returned to its loop and left it to another. False: there is
  // nobody to take its place.
  virtual bool take(std::function<void()> errand) = 0;

 protected:
  static void set_here(Errands* errands) { here_ = errands; }

 private:
  inline static thread_local Errands* here_ = nullptr;
};

}  // namespace tenure
