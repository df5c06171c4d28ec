#include "node/retention.h"

#include <algorithm>

namespace tenure {
namespace {

constexpr std::size_t kSavedMax = 64;
// How long it may take until everybody sees a stored snapshot.
constexpr Nanos kSettled = std::chrono::seconds(1);

Nanos out_of_reach(const Retention::Members& members) { return members.lease * 5 / 4; }

}  // namespace

void Retention::note_saved(Position position, std::uint64_t log_bytes, Instant now) {
  if (!saved_.empty() && saved_.back().position >= position) return;
  saved_.push_back({position, log_bytes, now});
  if (saved_.size() > kSavedMax) saved_.pop_front();
}

bool Retention::may_go(const Saved& saved, const Members& members, Instant now) const {
  if (now - saved.known >= out_of_reach(members)) return true;
  const std::uint64_t behind = members.log_bytes - saved.log_bytes;
  if (behind > kSlowMax) return true;
  if (members.read_by_all < saved.position) return false;
  return behind > kKeptMax || (behind > kKept && now - saved.known >= kRecent);
}

std::optional<Position> Retention::take_trim(const Members& members, Instant now) {
  const auto newest =
      std::find_if(saved_.rbegin(), saved_.rend(), [&](const Saved& saved) { return may_go(saved, members, now); });
  if (newest == saved_.rend() || newest->position <= trimmed_) return std::nullopt;
  trimmed_ = newest->position;
  saved_.erase(saved_.begin(), newest.base() - 1);  // keep the newest of those, to know what is stored
  return trimmed_;
}

std::optional<Instant> Retention::next(const Members& members) const {
  const auto untrimmed =
      std::find_if(saved_.begin(), saved_.end(), [this](const Saved& saved) { return saved.position > trimmed_; });
  if (untrimmed == saved_.end()) return std::nullopt;
  return untrimmed->known + out_of_reach(members);
}

bool Retention::misses(Position stored, Instant now) const {
  return !saved_.empty() && stored < saved_.back().position && now - saved_.back().known >= kSettled;
}

}  // namespace tenure
