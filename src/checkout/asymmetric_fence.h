#pragma once

// A pair of fences whose cost is all on one side. Of two threads, one does
//
//     store x; light_fence(); load y        and the other        store y; heavy_fence(); load x
//
// and at least one of them sees the other's store, as with two full fences. The light one is free: the heavy one makes
// the kernel run a full fence on every core that runs a thread of this process (membarrier(2)), which takes some
// microseconds. Where the kernel does not offer that, both are full fences.

#include <atomic>

namespace tenure {

// Set once, before main() or by the first who asks, and the same ever after.
bool heavy_fence_is_global();

void heavy_fence();

inline void light_fence(bool heavy_is_global) {
  if (heavy_is_global) [[likely]] {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // for the compiler alone
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

}  // namespace tenure
