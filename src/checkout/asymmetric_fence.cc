#include "checkout/asymmetric_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"

namespace tenure {
namespace {

bool register_process() { return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0; }

}  // namespace

bool has_asymmetric_fence() {
  static const bool kRegistered = register_process();
  return kRegistered;
}

void heavy_fence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!has_asymmetric_fence()) return;
  // It cannot fail once the process is registered, and ignoring a failure could lose a wake-up.
  ASSERT(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0);
}

}  // namespace tenure
