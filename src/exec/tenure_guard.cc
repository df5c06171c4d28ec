// The guard program, which a worker starts; see guard_main.h.

#include <string_view>

#include "exec/append_ends.h"
#include "guard/guard_main.h"

int main(int argc, char** argv) {
  const bool apart = argc > 1 && std::string_view(argv[1]) == tenure::guard::kApartFlag;
  return tenure::guard::guard_main(tenure::exec::append_ends, apart);
}
