#pragma once

// Names that belong to the library itself, so that its own residents never meet those of users: types that begin with a
// dot, and keys and sources that begin with ".source/". Users cannot dispatch, take or emit them. A worker that takes
// every job of a kind does not take the library's types; it has to name them.

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace tenure {

constexpr BytesView kOwnKeys = ".source/";

constexpr bool is_own_type(BytesView type) { return type.starts_with('.'); }
constexpr bool is_own_key(BytesView key) { return key.starts_with(kOwnKeys); }

// The partitions of a pool that has them: residents with the keys "partition/0", "partition/1", and so on. In such a
// pool nobody else can use these keys.
constexpr BytesView kPartitionKeys = "partition/";
constexpr BytesView kPartitionType = ".partition";

// Returns the partition of a key such as "partition/7". Returns nothing for any other key.
constexpr std::optional<std::uint32_t> partition_of_key(BytesView key) {
  if (!key.starts_with(kPartitionKeys)) return std::nullopt;
  const BytesView digits = key.substr(kPartitionKeys.size());
  if (digits.empty() || digits.size() > 4 || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  std::uint32_t number = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint32_t>(digit - '0');
  }
  return number;
}
inline Bytes partition_key(std::uint32_t partition) { return Bytes(kPartitionKeys) + std::to_string(partition); }

}  // namespace tenure
