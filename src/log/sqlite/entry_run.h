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

class RunPacker {
 public:
  void add(BytesView entry);
  bool full() const { return entries_.size() >= kRunBytesMax; }
  std::int64_t count() const { return static_cast<std::int64_t>(sizes_.size() / 4); }
  // The data of the row. What was packed is gone with it.
  Bytes take();

 private:
  Bytes sizes_;
  Bytes entries_;
};

// Views into the data; nothing where it is not `count` entries.
std::optional<std::vector<BytesView>> unpack_run(BytesView data, std::int64_t count);

}  // namespace tenure::sqlite
