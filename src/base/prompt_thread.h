#pragma once

namespace tenure {

// For a thread that does little work at a time while others wait for it. Asks the kernel (Linux 6.12 and later) to run
// the calling thread soon after it wakes up, even if another thread of this user has the processor. The thread gets its
// processor time in shorter pieces, but not more of it. Does nothing on other kernels.
void run_promptly();

}  // namespace tenure
