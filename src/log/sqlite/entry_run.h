#pragma once

// Entries that were committed together, packed into the data of one row: a row for each would cost more than its bytes
// where a thousand small ones share a commit.
//
//   data  := size:u32*count  entry*count      little-endian
//
// The entries have the row's time, and the positions from its first one on.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace tenure::sqlite {

// A row takes further entries while it is below this.
constexpr std::size_t kRunBytesMax = 256U << 10;

// The memory is used again from run to run.
class RunPacker {
 public:
  // The entry must live until it was packed.
  void add(BytesView entry);
  bool full() const { return bytes_ >= kRunBytesMax; }
  std::int64_t count() const { return static_cast<std::int64_t>(entries_.size()); }
  // The data of the row, until the next call. What was added is gone.
  BytesView pack();
  void clear();

 private:
  std::vector<BytesView> entries_;
  std::size_t bytes_ = 0;  // theirs
  Bytes packed_;
};

// Views into the data; nothing where it is not `count` entries.
std::optional<std::vector<BytesView>> unpack_run(BytesView data, std::int64_t count);

}  // namespace tenure::sqlite
