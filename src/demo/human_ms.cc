#include "demo/human_ms.h"

#include <cstdio>

namespace tenure::demo {

std::string human_ms(double ms) {
  char text[40];
  if (ms < 1) {
    std::snprintf(text, sizeof text, "%.0f µs", ms * 1000);
  } else if (ms < 10) {
    std::snprintf(text, sizeof text, "%.1f ms", ms);
  } else if (ms < 1000) {
    std::snprintf(text, sizeof text, "%.0f ms", ms);
  } else {
    std::snprintf(text, sizeof text, ms < 100'000 ? "%.2f s" : "%.0f s", ms / 1000);
  }
  return text;
}

}  // namespace tenure::demo
