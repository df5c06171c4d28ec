// The second half of a Feed: from the batch to the pool.

#include <algorithm>
#include <utility>

#include "base/shard.h"
#include "feeder/feed.h"

namespace tenure::feeder {
namespace {

using std::chrono::milliseconds;

}  // namespace

// Cuts at most as many tasks as the queues have room for. Cuts nothing if there will soon be room for more.
std::size_t Feed::fitting() {
  QueueRoom& room = parts_.outside.room();
  std::size_t most = std::min(most_, kEmitTasksMax);
  if (room.bound() != 0) most = std::min<std::size_t>(most, room.bound());
  const std::size_t wanted = std::min(most, batch_.size());
  std::size_t fits = 0;
  if (room.shards() == 1) {
    fits = batch_.fitting(std::min<std::size_t>(most, room.room(0)), nullptr);
  } else {
    std::vector<std::uint32_t> free(room.shards());
    for (std::uint32_t i = 0; i < room.shards(); ++i) free[i] = room.room(i);
    fits = batch_.fitting(most, [&](const EmitTask& task) {
      std::uint32_t& left = free[shard_of(task.key, room.shards())];
      return left != 0 && left-- != 0;
    });
  }
  const bool enough = fits >= wanted || fits >= room.enough() || fits >= most_ || batch_.bytes() > kEmitBytesMax;
  blocked_ = fits == 0 || !enough;
  if (!blocked_) return fits;
  room.want();
  return 0;
}

bool Feed::send(Instant now) {
  if (phase_ != Phase::run || waiting_ || now < pause_until_) return false;
  blocked_ = false;
  if (!flight_) {
    if (batch_.empty()) return false;
    if (batch_.size() == 0 && !batch_.has_loss() && now < moved_at_ + kTellEvery) return false;
    const std::size_t fits = batch_.size() == 0 ? 0 : fitting();
    if (blocked_) return false;
    flight_ = batch_.cut(fits);
    flight_->source = state_.sequence();
    add_report(*flight_, now);
  }
  emit(now);
  return true;
}

// The mark of the last event gets into the log together with the position. Otherwise the next holder could not notice
// that the partition has lost its tail and that the position belongs to another event now. It would pass over that
// event, and over those before it.
void Feed::add_report(Emission& emission, Instant now) {
  voice_.add_to(emission.report, now);
  const std::optional<source::Mark> mark = batch_.cut_mark();
  if (mark) state_.add_mark(*mark);
  if (!mark && now < saved_at_ + kTellEvery) return;
  emission.report.checkpoint = state_.encode();
  saved_at_ = now;
}

void Feed::emit(Instant now) {
  QueueRoom& room = parts_.outside.room();
  for (const EmitTask& task : flight_->tasks) {
    ++reserved_[room.shards() == 1 ? 0 : shard_of(task.key, room.shards())];
  }
  for (std::uint32_t i = 0; i < room.shards(); ++i) room.sent(i, reserved_[i]);
  waiting_ = true;
  moved_at_ = now;
  const std::uint64_t number = ++number_;
  emitter_->emit(flight_, kEmitPatience, [this, number, post = parts_.post](const Result<std::uint64_t>& answer) {
    post([this, number, answer] {
      if (number == number_ && waiting_) answered(answer);
    });
  });
}

void Feed::settle_room() {
  waiting_ = false;
  QueueRoom& room = parts_.outside.room();
  for (std::uint32_t i = 0; i < room.shards(); ++i) room.answered(i, std::exchange(reserved_[i], 0));
}

void Feed::answered(const Result<std::uint64_t>& answer) {
  settle_room();
  if (!answer) return take_back(answer.error());
  if (const auto& lost = flight_->report.lost) {
    voice_.log(LogLevel::error, "it lost the events at positions " + std::to_string(lost->first) + " to " +
                                    std::to_string(lost->last) + " (" + std::to_string(lost->count) +
                                    ") before they were read");
  }
  emitted_ = std::max(emitted_, flight_->position);
  flight_.reset();
  backoff_ = Nanos(0);
  most_ = std::min(most_ * 2, kEmitTasksMax);
  if (now_ < noted_at_ + kTellEvery) return;
  noted_at_ = now_;
  parts_.source.note_read(partition_, emitted_);
}

void Feed::take_back(const Error& why) {
  switch (why.code) {
    case Errc::refused:
    case Errc::closed:
    case Errc::shutting_down: phase_ = Phase::over; return;
    case Errc::lost_history: voice_.log(LogLevel::warning, why.context); return reopen();
    case Errc::invalid:
      // The pool's queue is smaller than this process believed: a smaller emit may fit. A single task that never fits
      // must not block the source.
      if (flight_->tasks.size() > 1) {
        most_ = std::max<std::size_t>(flight_->tasks.size() / 2, 1);
        return put_back();
      }
      if (!flight_->tasks.empty() && flight_->tasks.front().error.empty()) {
        flight_->tasks.front().error = "the event cannot be a task: " + why.context;
        return;
      }
      break;
    case Errc::pool_full:
      most_ = std::max<std::size_t>(flight_->tasks.size() / 2, 1);
      put_back();
      return pause(milliseconds(2), milliseconds(100));
    default: break;
  }
  if (why.code == Errc::version || why.code == Errc::invalid) voice_.set_trouble(why.context);
  pause(kRetryFirst, kRetryMost);
}

// The tasks are cut again. Shards that have some of them already skip those. Its checkpoint was refused with it.
void Feed::put_back() {
  voice_.repeat();
  if (flight_->report.checkpoint) saved_at_ = {};
  state_.drop_marks_behind(emitted_);
  batch_.put_back(std::move(*std::exchange(flight_, nullptr)));
}

void Feed::tell(Instant now) {
  SourceReport report;
  voice_.add_to(report, now);
  emitter_->tell(state_.sequence(), std::move(report));
}

// Waits before it forgets a sequence: an emit of an earlier tenure may still be under way to a shard, and would create
// the sequence again.
void Feed::forget_old(Instant now) {
  if (!forget_at_ || now < *forget_at_ || forgetting_ || state_.old_sequence().empty()) return;
  forgetting_ = true;
  parts_.outside.forget(state_.old_sequence(), [this, old = state_.old_sequence(), post = parts_.post](bool forgotten) {
    post([this, old, forgotten] {
      forgetting_ = false;
      if (state_.old_sequence() != old) return;
      if (!forgotten) {
        forget_at_ = now_ + kForgetAfter;
        return;
      }
      state_.forget_old();
      if (state_.old_sequence().empty()) forget_at_.reset();
    });
  });
}

}  // namespace tenure::feeder
