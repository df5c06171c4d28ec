#include "demo/moves.h"

#include <set>

namespace tenure::demo {
namespace {

std::set<std::uint64_t> living(const Holders& holders) {
  std::set<std::uint64_t> sessions;
  for (const auto& [key, session] : holders) sessions.insert(session);
  return sessions;
}

}  // namespace

std::uint64_t moves_needed(const Holders& before, const Holders& after) {
  const std::set<std::uint64_t> then = living(before);
  const std::set<std::uint64_t> now = living(after);
  std::uint64_t needed = 0;
  for (const auto& [key, session] : after) {
    const auto held = before.find(key);
    if (held == before.end() || held->second == session) continue;
    if (!now.contains(held->second) || !then.contains(session)) ++needed;
  }
  return needed;
}

}  // namespace tenure::demo
