#include "base/prompt_thread.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace tenure {
namespace {

// The kernel's own type is in a header that conflicts with the C library's.
struct SchedAttributes {
  std::uint32_t size = sizeof(SchedAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};

constexpr std::uint64_t kSliceNanos = 100'000;  // the kernel's minimum

}  // namespace

void run_promptly() {
  SchedAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != 0) return;  // somebody has chosen another scheduling class
  attributes.runtime = kSliceNanos;
  attributes.size = sizeof attributes;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace tenure
