#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace tenure {

void assert_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "tenure: invariant broken: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace tenure
