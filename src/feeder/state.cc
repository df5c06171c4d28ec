#include "feeder/state.h"

#include <algorithm>
#include <utility>

#include "tenure/v1/feeders.pb.h"

namespace tenure::feeder {
namespace {

// If a partition is replaced more often than this before the pool has forgotten a sequence, one name stays in the pool.
constexpr std::size_t kOldMax = 16;

}  // namespace

FeedState::FeedState(Bytes first, const std::optional<Bytes>& checkpoint) : first_(std::move(first)) {
  v1::FeederState from;
  if (!checkpoint || !from.ParseFromString(*checkpoint)) return;
  begun_ = from.begun();
  base_ = from.base();
  generation_ = from.generation();
  generation_mark_ = from.generation_mark();
  old_.assign(from.old_sources().begin(), from.old_sources().end());
  for (const v1::FeederMark& mark : from.marks()) marks_.push_back({mark.position(), mark.hash()});
}

Bytes FeedState::encode() const {
  v1::FeederState state;
  state.set_begun(begun_);
  state.set_base(base_);
  state.set_generation(generation_);
  state.set_generation_mark(generation_mark_);
  for (const Bytes& old : old_) state.add_old_sources(old);
  for (const source::Mark& mark : marks_) {
    v1::FeederMark& into = *state.add_marks();
    into.set_position(mark.position);
    into.set_hash(mark.hash);
  }
  return state.SerializeAsString();
}

Bytes FeedState::sequence() const {
  if (generation_ == 0) return first_;
  return first_ + "~" + std::to_string(generation_) + "-" + generation_mark_;
}

void FeedState::begin(std::uint64_t base) {
  begun_ = true;
  base_ = base;
}

void FeedState::renew(std::uint64_t base, bool keep_marks, std::uint64_t random) {
  old_.push_back(sequence());
  if (old_.size() > kOldMax) old_.erase(old_.begin());
  ++generation_;
  generation_mark_ = to_hex(random).substr(0, 8);
  begun_ = true;
  base_ = base;
  std::erase_if(marks_, [&](const source::Mark& mark) { return !keep_marks || mark.position > base; });
}

void FeedState::add_mark(const source::Mark& mark) {
  if (!marks_.empty() && marks_.back().position >= mark.position) return;
  marks_.push_back(mark);
  if (marks_.size() <= kMarksMax) return;
  // Drops the mark whose neighbours are closest to each other, relative to their age.
  std::size_t spare = 1;
  double least = 0;
  for (std::size_t i = 1; i + 1 < marks_.size(); ++i) {
    const auto gap = static_cast<double>(marks_[i + 1].position - marks_[i - 1].position);
    const auto age = static_cast<double>(mark.position - marks_[i - 1].position);
    if (i != 1 && gap / age >= least) continue;
    least = gap / age;
    spare = i;
  }
  marks_.erase(marks_.begin() + static_cast<std::ptrdiff_t>(spare));
}

void FeedState::drop_marks_behind(std::uint64_t position) {
  std::erase_if(marks_, [&](const source::Mark& mark) { return mark.position > position; });
}

std::vector<source::Mark> FeedState::marks_up_to(std::uint64_t position) const {
  std::vector<source::Mark> marks;
  for (const source::Mark& mark : marks_) {
    if (mark.position <= position) marks.push_back(mark);
  }
  return marks;
}

}  // namespace tenure::feeder
