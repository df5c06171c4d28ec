#pragma once

// Watches foreign processes by their pidfds, without sleeping.

#include <sys/types.h>

#include <chrono>
#include <string>

#include "base/clock.h"
#include "base/descriptor.h"

namespace tenure::guard {

constexpr std::chrono::seconds kDeadline{20};

class Watched {
 public:
  explicit Watched(pid_t process);
  // True once it has died (it may be a zombie); false after the span. Zero asks without waiting.
  bool dies_within(Nanos span) const;
  pid_t pid() const { return process_; }

 private:
  pid_t process_;
  Descriptor handle_;
};

// The worker's ends of pipes and the like: how many descriptors this process has open.
std::size_t open_descriptors();
// How many processes, zombies too, have this one as their parent.
std::size_t children(pid_t process);

}  // namespace tenure::guard
