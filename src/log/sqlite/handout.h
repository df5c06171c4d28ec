#pragma once

// A bounded run of entries for a reader, from the file or from memory. It ends at the first limit that it reaches.

#include <cstdint>
#include <utility>
#include <vector>

#include "log/log.h"

namespace tenure::sqlite {

constexpr std::size_t kHandoutEntriesMax = 4096;
constexpr std::size_t kHandoutBytesMax = 1U << 20;

class Handout {
 public:
  // Returns false when it is full. Then the entry was not added, and no later one may be. The first entry is always
  // added, however large.
  bool add(Position position, std::int64_t time_ms, BytesView data) {
    bytes_ += data.size();
    if (!entries_.empty() && (bytes_ > kHandoutBytesMax || entries_.size() == kHandoutEntriesMax)) return false;
    entries_.push_back({position, time_ms, Bytes(data)});
    return true;
  }
  std::vector<Entry> take() { return std::move(entries_); }

 private:
  std::vector<Entry> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace tenure::sqlite
