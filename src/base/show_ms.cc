#include "base/show_ms.h"

namespace tenure {

std::string show_ms(std::int64_t ms) {
  if (ms < 1000) return std::to_string(ms) + " ms";
  if (ms < 60'000) return std::to_string(ms / 1000) + "." + std::to_string(ms % 1000 / 100) + " s";
  const std::int64_t minutes = ms / 60'000;
  if (minutes < 60) return std::to_string(minutes) + " min " + std::to_string(ms / 1000 % 60) + " s";
  if (minutes < 2880) return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
  return std::to_string(minutes / 60 / 24) + " d";
}

}  // namespace tenure
