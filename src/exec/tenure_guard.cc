// The program that a worker starts beside itself; see guard_main.h.

#include "exec/guard_main.h"

int main() { return tenure::exec::guard_main(); }
