#pragma once

// The system's randomness for several loops, fetched in portions: a ticket needs a number, and a system call for
// each would be a good part of what a dispatch costs.

#include <sys/random.h>

#include <array>
#include <mutex>

#include "base/assert.h"
#include "base/entropy.h"

namespace tenure {

// Thread-safe.
class SharedEntropy final : public Entropy {
 public:
  std::uint64_t next() override {
    std::lock_guard lock(mutex_);
    if (left_ == 0) {
      // Up to 256 bytes come whole, or not at all.
      ASSERT(getrandom(words_.data(), sizeof words_, 0) == static_cast<ssize_t>(sizeof words_));
      left_ = words_.size();
    }
    return words_[--left_];
  }

 private:
  std::mutex mutex_;
  std::array<std::uint64_t, 32> words_{};  // guarded by mutex_
  std::size_t left_ = 0;                   // guarded by mutex_
};

}  // namespace tenure
