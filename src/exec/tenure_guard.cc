// The guard program, which a worker starts; see guard_main.h.

#include "exec/append_ends.h"
#include "guard/guard_main.h"

int main() { return tenure::guard::guard_main(tenure::exec::append_ends); }
