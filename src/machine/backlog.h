#pragma once

// The backlog of a partition: a number in its checkpoint, which any program can write.

#include <charconv>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace tenure {

// Larger ones count as this, so that the sum over all partitions fits.
constexpr std::uint64_t kBacklogMax = std::uint64_t{1} << 50;

// Nothing if the checkpoint is something else.
inline std::optional<std::uint64_t> read_backlog(BytesView checkpoint) {
  while (!checkpoint.empty() && (checkpoint.back() == '\n' || checkpoint.back() == ' ')) checkpoint.remove_suffix(1);
  std::uint64_t backlog = 0;
  const char* end = checkpoint.data() + checkpoint.size();
  const auto [read, error] = std::from_chars(checkpoint.data(), end, backlog);
  if (checkpoint.empty() || error != std::errc{} || read != end || backlog == UINT64_MAX) return std::nullopt;
  return backlog;
}

}  // namespace tenure
