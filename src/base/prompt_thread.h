#pragma once

namespace tenure {

// For a thread that does little at a time and for which others wait: asks the kernel (Linux 6.12 and later) to let the
// calling thread run soon after it was woken, where another one of this user has the processor. It gets no more of the
// processor than before, but in shorter pieces. Where that is not known nothing changes.
void run_promptly();

}  // namespace tenure
