#include "node/digest_comparison.h"

#include <cstddef>

namespace tenure {

bool DigestComparison::outvoted(std::uint64_t own, std::uint64_t eldest) const {
  std::size_t with = 1;
  std::size_t against = 0;
  bool eldest_with = eldest == own;
  for (const auto& [session, agrees] : agrees_) {
    ++(agrees ? with : against);
    if (agrees && session == eldest) eldest_with = true;
  }
  return against > with || (against == with && !eldest_with);
}

}  // namespace tenure
