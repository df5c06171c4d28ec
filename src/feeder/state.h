#pragma once

// The checkpoint of a partition's feeder, for its successor. Not thread-safe.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "source/source.h"

namespace tenure::feeder {

constexpr std::size_t kMarksMax = 8;

class FeedState {
 public:
  // `first`: the name of the partition's first sequence, which is the feeder's key.
  FeedState(Bytes first, const std::optional<Bytes>& checkpoint);

  Bytes encode() const;

  // The name under which the pool knows the sequence.
  Bytes sequence() const;
  bool begun() const { return begun_; }
  std::uint64_t base() const { return base_; }
  void begin(std::uint64_t base);

  // The partition was replaced, so the pool sees a new sequence from here on. Drops the marks behind `base`, or all.
  void renew(std::uint64_t base, bool keep_marks, std::uint64_t random);
  // The oldest of the earlier sequences, which are not needed any more. Empty if there is none.
  Bytes old_sequence() const { return old_.empty() ? Bytes() : old_.front(); }
  void forget_old() { old_.erase(old_.begin()); }

  // Adds the mark of an emitted event. Keeps the newest mark, and fewer and fewer of the older ones.
  void add_mark(const source::Mark& mark);
  // Undoes that for the events behind this position.
  void drop_marks_behind(std::uint64_t position);
  std::vector<source::Mark> marks_up_to(std::uint64_t position) const;

 private:
  const Bytes first_;
  bool begun_ = false;
  std::uint64_t base_ = 0;
  std::uint32_t generation_ = 0;
  Bytes generation_mark_;
  std::vector<Bytes> old_;           // oldest first
  std::vector<source::Mark> marks_;  // ascending
};

}  // namespace tenure::feeder
