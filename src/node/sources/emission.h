#pragma once

// Tasks of a source on their way to the pool.

#include <cstdint>
#include <optional>
#include <string_view>
#include <tenure/emit.hpp>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tenure {

// What a feeder says besides, for the shard of its key.
struct SourceReport {
  // Events that the source lost before they were read. They lie before the position of the emit, and count with it.
  struct Lost {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t count = 0;
  };

  std::optional<Lost> lost{};
  std::uint64_t end = 0;              // the position of the source's newest event; zero: not known
  std::optional<Bytes> trouble{};     // why the source cannot be read; empty: it can
  std::optional<Bytes> checkpoint{};  // for the key's next holder

  // It has to be in the log before the emit is over.
  bool awaited() const { return lost.has_value() || checkpoint.has_value(); }
};

// What a handler hands over. Its tasks are in the order of their positions.
struct Emission {
  Bytes source;  // empty: the key of the tenure
  std::uint64_t position = 0;
  std::vector<EmitTask> tasks{};
  SourceReport report{};

  // Errc::invalid if anything is empty, malformed or over a bound.
  Status check() const;
};

// The name that a user gives a source is none of the library's own.
Status check_users_source(BytesView source);
// Nor are the keys and types of these tasks.
Status check_users_tasks(const std::vector<EmitTask>& tasks);

// The part of it that goes to one shard. Without a position it only asks how far the source is.
struct ShardEmission {
  Bytes source;
  Bytes key;  // these two: the tenure
  std::uint64_t epoch = 0;
  std::uint64_t after = 0;
  std::uint64_t position = 0;
  std::vector<EmitTask> tasks{};
  SourceReport report{};

  Status check() const;
};

}  // namespace tenure
