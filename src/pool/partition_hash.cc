// The partition of a row, and the ordinal in a name.

#include <algorithm>
#include <charconv>
#include <tenure/partition.hpp>

namespace tenure {

// A polynomial modulo a prime, computed with numbers that SQL has: a multiplication never exceeds 63 bits. Databases
// compute the same (docs/partitions.md), and have stored the results, so it must never change.
std::uint32_t partition_of(std::string_view key, std::uint32_t partitions) {
  constexpr std::uint64_t kPrime = 2'147'483'647;
  constexpr std::uint64_t kFactor = 1'103'515'245;
  if (partitions == 0) return 0;
  std::uint64_t hash = 0;
  for (const char byte : key) hash = (hash * kFactor + static_cast<unsigned char>(byte) + 1) % kPrime;
  return static_cast<std::uint32_t>(hash % partitions);
}

std::optional<std::uint32_t> ordinal_of(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(dash + 1);
  const bool plain = !digits.empty() && (digits == "0" || digits[0] != '0') &&
                     std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  std::uint32_t ordinal = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (!plain || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return ordinal;
}

}  // namespace tenure
