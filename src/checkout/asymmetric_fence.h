#pragma once

// A pair of fences whose cost is all on one side. Of two threads, one does
//
//     store x; light_fence(); load y        and the other        store y; heavy_fence(); load x
//
// and at least one of them sees the other's store, as with two full fences. The light one is free: the heavy one makes
// the kernel run a full fence on every core that runs a thread of this process (membarrier(2)), which takes some
// microseconds. If the kernel does not support that, there is no such pair.

#include <atomic>

namespace tenure {

// The result never changes.
bool has_asymmetric_fence();

void heavy_fence();

// A fence for the compiler alone.
inline void light_fence() { std::atomic_signal_fence(std::memory_order_seq_cst); }

}  // namespace tenure
