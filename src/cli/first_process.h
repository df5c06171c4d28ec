#pragma once

namespace tenure::cli {

// In a container, the program is the first process, and the kernel ends everything else in the container with it. So a
// crash of the worker would take its guard along, nobody could tell the other workers, and they would wait for the
// lease. In this case the program starts itself once more, as its only child, and returns there. The first process
// only passes signals on, reaps, and exits as the child did, once the guard has ended too.
//
//     first process ── worker ── guard ── programs
//
// Call it before any thread starts.
void split_first_process();

}  // namespace tenure::cli
