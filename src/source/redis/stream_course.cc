#include "source/redis/stream_course.h"

#include <algorithm>

namespace tenure::source::redis {
namespace {

std::uint64_t oldest_of(const StreamLook& look) { return look.ends().first; }

// The first position that can still be read lies behind the one that the reader needs next.
bool overtaken(const StreamLook& look, std::uint64_t position) {
  return oldest_of(look) > position + 1 && look.last > position;
}

}  // namespace

void StreamCourse::begin(std::uint64_t after, bool resumed) {
  position_ = after;
  added_.reset();
  dropped_ = 0;
  resumed_ = resumed;
  doubted_ = false;
}

// The stream that was read would have other counts.
bool StreamCourse::contradicts(const StreamLook& look) const {
  if (!added_) return false;
  if (look.last < position_ || look.added < *added_) return true;
  // Everything that is there was added behind the position.
  return overtaken(look, position_) && look.added < *added_ + look.length;
}

Run StreamCourse::resume(const StreamLook& look, const Continuity& judged, std::optional<std::uint64_t> ahead) {
  Run run;
  Continuity found = judged;
  if (found.change == Change::none && contradicts(look)) found = {Change::anew, look.ends().first - 1};
  const bool same = found.change == Change::none;
  if (!same) {
    run.change = found.change;
    run.resumed = position_ = found.resumed;
    resumed_ = found.change == Change::cut;
  }
  if (!same || doubted_) added_.reset();
  doubted_ = false;
  count_from(look, same ? ahead : std::nullopt);
  if (!resumed_) dropped_ = look.dropped();
  resumed_ = true;
  return run;
}

void StreamCourse::count_from(const StreamLook& look, std::optional<std::uint64_t> ahead) {
  if (look.last == position_) added_ = look.added;
  // An entry that was deleted in front of the reader spoils every count.
  if (added_ || look.deleted > position_) return;
  if (look.length > 0 && look.first == position_ + 1) {
    added_ = look.dropped();
  } else if (position_ == 0) {
    added_ = 0;
  } else if (ahead && look.length > 0 && look.first <= position_) {
    added_ = look.added - std::min(look.added, *ahead);
  }
}

StreamCourse::Step StreamCourse::judge(const StreamLook& look, std::uint64_t count, std::uint64_t last) const {
  if (look.last < std::max(last, position_) && (count > 0 || added_)) return Step::resume;
  if (added_ && look.added < *added_ + count) return Step::resume;
  if (overtaken(look, position_)) return Step::closer;
  if (look.deleted > position_ && look.dropped() > dropped_) return Step::closer;
  return Step::take;
}

StreamCourse::Step StreamCourse::judge_exact(const StreamLook& look) const {
  return contradicts(look) ? Step::resume : Step::take;
}

std::optional<Loss> StreamCourse::find_loss(const StreamLook& look) {
  const std::uint64_t first = position_ + 1;
  if (overtaken(look, position_)) {
    const std::uint64_t last = oldest_of(look) - 1;
    const std::uint64_t bound = std::min(look.dropped(), last - position_);
    const std::uint64_t count = added_ ? look.added - *added_ - look.length : bound;
    if (added_) *added_ += count;
    position_ = last;
    dropped_ = look.dropped();
    if (count == 0) return std::nullopt;
    return Loss{first, last, count};
  }
  if (look.deleted > position_ && look.dropped() > dropped_) {
    const std::uint64_t count = std::min(look.dropped() - dropped_, look.deleted - position_);
    added_.reset();
    dropped_ = look.dropped();
    return Loss{first, look.deleted, count};
  }
  return std::nullopt;
}

Run StreamCourse::take(const StreamLook& look, std::vector<Event> events) {
  Run run;
  run.events = std::move(events);
  if (!run.events.empty()) run.position = position_ = run.events.back().position;
  if (added_) *added_ += run.events.size();
  if (look.last == position_) added_ = look.added;
  // What is deleted behind the reader is no loss, unless the highest deleted one lies in front of it.
  dropped_ = look.dropped();
  return run;
}

Run StreamCourse::take_exact(const StreamLook& look, std::vector<Event> events) {
  const std::uint64_t before = position_;
  std::optional<Loss> lost = find_loss(look);
  // There is nothing else behind it.
  if (events.empty()) position_ = std::max(position_, look.last);
  Run run = take(look, std::move(events));
  run.lost = lost;
  if (position_ != before) run.position = position_;
  return run;
}

}  // namespace tenure::source::redis
