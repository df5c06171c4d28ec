#pragma once

// Tasks of a source on their way to the pool.

#include <cstdint>
#include <string_view>
#include <tenure/emit.hpp>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tenure {

// What a handler hands over. Its tasks are in the order of their positions.
struct Emission {
  Bytes source;  // empty: the key of the tenure
  std::uint64_t position = 0;
  std::vector<EmitTask> tasks{};

  // Errc::invalid if anything is empty, malformed or over a bound.
  Status check() const;
};

// The part of it that goes to one shard. Without a position it only asks how far the source is.
struct ShardEmission {
  Bytes source;
  Bytes key;  // these two: the tenure
  std::uint64_t epoch = 0;
  std::uint64_t after = 0;
  std::uint64_t position = 0;
  std::vector<EmitTask> tasks{};

  Status check() const;
};

}  // namespace tenure
