#pragma once

// Exponential backoff with jitter: between one half and the whole of base * 2^n, up to a cap.

#include "base/clock.h"
#include "base/entropy.h"

namespace tenure {

class Backoff {
 public:
  Backoff(Nanos base, Nanos cap, Entropy& entropy) : base_(base), cap_(cap), entropy_(&entropy) {}

  Nanos next();
  void reset() { attempts_ = 0; }

 private:
  Nanos base_;
  Nanos cap_;
  Entropy* entropy_;
  int attempts_ = 0;
};

}  // namespace tenure
