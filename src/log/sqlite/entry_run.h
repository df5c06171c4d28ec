#pragma once

// Entries that were committed together, packed into one row. If a thousand small entries share a commit, a row for each
// would cost more than its bytes.
//
//   data  := size:u32*count  entry*count      little-endian
//
// The entries have the row's time, and consecutive positions from its first one.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace tenure::sqlite {

// A row takes more entries while it is below this size.
constexpr std::size_t kRunBytesMax = 256U << 10;

// Reuses its memory from run to run.
class RunPacker {
 public:
  // The entry must live until pack().
  void add(BytesView entry);
  bool full() const { return bytes_ >= kRunBytesMax; }
  std::int64_t count() const { return static_cast<std::int64_t>(entries_.size()); }
  // Returns the data of the row, valid until the next call, and forgets the entries.
  BytesView pack();
  void clear();

 private:
  std::vector<BytesView> entries_;
  std::size_t bytes_ = 0;  // of the entries
  Bytes packed_;
};

// Views into the data. Nothing if it is not `count` valid entries.
std::optional<std::vector<BytesView>> unpack_run(BytesView data, std::int64_t count);

}  // namespace tenure::sqlite
