#include "node/heart.h"

#include <algorithm>

#include "base/mutant.h"
#include "node/batch_head.h"

namespace tenure {
namespace {

constexpr std::size_t kUnconfirmedMax = 64;
constexpr Nanos kMarginMin = std::chrono::milliseconds(5);

}  // namespace

LeaseTimes LeaseTimes::of(Nanos lease) { return {lease, lease / 5, std::max(lease / 20, kMarginMin), lease / 10}; }

Heart::Heart(Log& log, Loop& loop, const Clock& clock, Entropy& entropy, LeaseHolder* holder, HeartEvents& events)
    : log_(log),
      loop_(loop),
      clock_(clock),
      entropy_(entropy),
      holder_(holder),
      events_(events),
      beat_timer_(loop),
      watchdog_(loop) {}

void Heart::begin(std::uint64_t session, Nanos lease, std::uint32_t speaks) {
  session_ = session;
  speaks_ = speaks;
  sender_ = entropy_.id();
  sequence_ = 0;
  times_ = LeaseTimes::of(lease);
  number_ = 0;
  sent_.clear();
  digest_position_ = 0;  // it may be of a log that was lost
  fenced_ = false;
  until_.store(0, std::memory_order_release);
  watchdog_.cancel();
  beat_timer_.arm(loop_.now() + times_.beat, [this] { beat(); });
}

void Heart::end(std::uint64_t session) {
  if (session != session_) return;
  session_ = 0;
  until_.store(0, std::memory_order_release);
  beat_timer_.cancel();
  watchdog_.cancel();
  if (holder_ != nullptr) holder_->lease_over(session);
}

void Heart::joined(std::uint64_t session) {
  if (session == session_ && !fenced_) beat();
}

void Heart::beat_now() {
  if (session_ != 0) beat();
}

void Heart::beat() {
  v1::Batch batch = empty_batch(sender_, ++sequence_, clock_.wall_ms());
  v1::Beat& record = *batch.add_records()->mutable_beat();
  record.set_session(session_);
  record.set_number(++number_);
  record.set_speaks(speaks_);
  record.set_digest_position(std::exchange(digest_position_, 0));
  record.set_digest(digest_);
  record.set_read(read_.load(std::memory_order_relaxed));

  sent_.push_back({number_, loop_.now()});
  if (sent_.size() > kUnconfirmedMax) sent_.pop_front();
  beat_timer_.arm(loop_.now() + times_.beat, [this] { beat(); });
  // A beat is not sent again, because the next one replaces it. Only if it is certainly lost, the next one comes
  // sooner.
  auto failed = token_.guard([this, session = session_] {
    const Instant soon = loop_.now() + times_.beat / 4;
    if (session == session_ && beat_timer_.armed() && beat_timer_.when() > soon) {
      beat_timer_.arm(soon, [this] { beat(); });
    }
  });
  log_.append(Lane::beat, batch.SerializeAsString(), [loop = &loop_, failed](Result<Position> answer) {
    if (!answer && answer.error().code != Errc::closed) loop->post(failed);
  });
}

void Heart::confirmed(std::uint64_t session, std::uint64_t number) {
  if (session != session_ || fenced_) return;
  while (!sent_.empty() && sent_.front().number < number) sent_.pop_front();
  if (sent_.empty() || sent_.front().number != number) return;
  const Instant from = MUTANT(deadline_from_confirm) ? loop_.now() : sent_.front().at;
  sent_.pop_front();
  const Instant until = from + times_.lease - times_.margin;
  // A process that was frozen may read its beats before its watchdog has run. A lease that has run out stays so.
  const Instant fenced_from = (until_ == 0 ? until : Instant{Nanos(until_)}) - times_.grace;
  if (loop_.now() >= fenced_from && !MUTANT(watchdog_off)) return fence();
  if (until.since_boot.count() <= until_.load(std::memory_order_relaxed)) return;
  until_.store(until.since_boot.count(), std::memory_order_release);
  if (holder_ != nullptr) holder_->lease_until(session_, until);
  events_.lease_until(session_, until);
  arm();
}

void Heart::note_digest(Position position, std::uint64_t digest) {
  digest_position_ = position;
  digest_ = digest;
}

void Heart::arm() {
  const Instant until{Nanos(until_.load(std::memory_order_relaxed))};
  watchdog_.arm(until - times_.grace, [this] { fence(); });
}

// From now on the session cannot be renewed. Beats that still come back are ignored, because the handlers were told to
// stop.
void Heart::fence() {
  if (MUTANT(watchdog_off)) return;
  fenced_ = true;
  beat_timer_.cancel();
  if (holder_ != nullptr) holder_->fence(session_);
  const Instant until{Nanos(until_.load(std::memory_order_relaxed))};
  watchdog_.arm(until, [this] {
    if (holder_ != nullptr) holder_->kill(session_);
  });
  events_.lease_lost(session_);
}

}  // namespace tenure
