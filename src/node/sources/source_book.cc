#include "node/sources/source_book.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"

namespace tenure {

void SourceBook::heard(std::uint32_t shard, std::uint64_t position) {
  lost_ = lost_ || position < taken_[shard];
  taken_[shard] = position;
}

bool SourceBook::all_heard() {
  known_ = true;
  const bool lost = std::exchange(lost_, false);
  const std::uint64_t lowest =
      MUTANT(emit_first_shard_for_all) ? taken_.front() : *std::min_element(taken_.begin(), taken_.end());
  // Shards that had no tasks lately are behind what this tenure knows that they have.
  reached_ = lost || !std::exchange(asked_, true) ? lowest : std::max(reached_, lowest);
  return !lost;
}

void SourceBook::taken(std::uint32_t shard, std::uint64_t position) {
  taken_[shard] = std::max(taken_[shard], position);
  untold_[shard] = 0;
}

void SourceBook::emitted(std::uint64_t position) { reached_ = std::max(reached_, position); }

std::vector<SourceBook::Part> SourceBook::untold() const {
  std::vector<Part> parts;
  for (std::uint32_t shard = 0; shard < taken_.size(); ++shard) {
    if (untold_[shard] != 0 && taken_[shard] < reached_) {
      parts.push_back({.shard = shard, .after = taken_[shard], .position = reached_});
    }
  }
  return parts;
}

}  // namespace tenure
