#include "feeder/feed.h"

#include <algorithm>
#include <utility>

namespace tenure::feeder {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Nanos kSourceRetry = seconds(1);
constexpr Nanos kReopenAfter = seconds(5);

std::string name_of(const Spec& spec, const Bytes& partition) { return spec.name + "/" + partition; }

}  // namespace

Feed::Feed(FeedParts parts, Bytes partition, Hold hold, const std::optional<Bytes>& checkpoint)
    : parts_(std::move(parts)),
      partition_(std::move(partition)),
      hold_(std::move(hold)),
      emitter_(parts_.outside.emitter(hold_)),
      state_(hold_.key, checkpoint),
      batch_(parts_.spec, parts_.source, name_of(parts_.spec, partition_) + "/"),
      voice_(parts_.outside, name_of(parts_.spec, partition_)),
      reserved_(parts_.outside.room().shards()) {}

bool Feed::step(Instant now) {
  now_ = now;
  forget_old(now);
  if (voice_.untold() && now >= voice_.next() && phase_ != Phase::over) tell(now);
  if (phase_ == Phase::over || phase_ == Phase::asking) return false;
  if (phase_ != Phase::run) {
    if (now < pause_until_) return false;
    if (phase_ == Phase::ask) ask(now);
    if (phase_ == Phase::find) find(now);
    if (phase_ == Phase::open) open(now);
    return phase_ != Phase::asking;
  }
  bool worked = admit_held();
  worked = fetch(now) || worked;
  return send(now) || worked;
}

Instant Feed::due() const {
  Instant due = now_ + seconds(30);
  const auto earlier = [&](Instant at) { due = std::min(due, at); };
  if (phase_ == Phase::over) return due;
  if (voice_.untold()) earlier(voice_.next());
  if (forget_at_ && !forgetting_) earlier(*forget_at_);
  if (phase_ == Phase::asking) return due;
  if (phase_ != Phase::run) return std::min(due, pause_until_);
  if (!held_ && read_pause_until_ > now_) earlier(read_pause_until_);
  if (waiting_) return due;
  if (flight_) earlier(pause_until_);
  if (blocked_) earlier(now_ + milliseconds(50));
  if (!flight_ && !blocked_ && !batch_.empty()) earlier(batch_.size() != 0 ? pause_until_ : moved_at_ + kTellEvery);
  return due;
}

bool Feed::hungry() const {
  return phase_ == Phase::run && !held_ && read_pause_until_ <= now_ && batch_.size() < kEmitTasksMax &&
         batch_.bytes() < parts_.bytes_max();
}

std::optional<Bytes> Feed::stop() {
  parts_.source.close(partition_);
  settle_room();
  if (phase_ == Phase::run) parts_.source.note_read(partition_, emitted_);
  phase_ = Phase::over;
  if (!state_.begun()) return std::nullopt;
  return state_.encode();
}

void Feed::look_at_end(Instant /*now*/) {
  if (phase_ != Phase::run || read_pause_until_ > now_) return;
  if (const Result<source::Ends> ends = parts_.source.ends(partition_); ends) voice_.set_end(ends->last);
}

void Feed::pause(Nanos first, Nanos most) {
  backoff_ = std::clamp(backoff_ * 2, first, most);
  pause_until_ = now_ + backoff_;
}

// The question makes the pool refuse emits of earlier tenures. It follows the checkpoint in the log, so its answer
// confirms the checkpoint, too.
void Feed::ask(Instant now) {
  SourceReport report;
  if (state_.begun() && unsaved_) {
    report.checkpoint = state_.encode();
    saved_at_ = now;
  }
  phase_ = Phase::asking;
  const std::uint64_t number = ++number_;
  emitter_->ask(state_.sequence(), std::move(report), kEmitPatience,
                [this, number, post = parts_.post](const Result<std::uint64_t>& answer) {
                  post([this, number, answer] {
                    if (number == number_ && phase_ == Phase::asking) asked(answer);
                  });
                });
}

void Feed::asked(const Result<std::uint64_t>& answer) {
  phase_ = Phase::ask;
  if (!answer) {
    const Errc code = answer.error().code;
    if (code == Errc::refused || code == Errc::closed || code == Errc::shutting_down) {
      phase_ = Phase::over;
      return;
    }
    if (code == Errc::version || code == Errc::invalid) voice_.set_trouble(answer.error().context);
    return pause(kRetryFirst, kRetryMost);
  }
  backoff_ = Nanos(0);
  if (!state_.begun() && *answer == 0) {
    phase_ = Phase::find;
    return;
  }
  // There is no checkpoint. The position that the pool has is enough.
  if (!state_.begun()) state_.begin(0);
  unsaved_ = false;
  if (!state_.old_sequence().empty() && !forget_at_) forget_at_ = now_ + kForgetAfter;
  emitted_ = std::max(state_.base(), *answer);
  state_.drop_marks_behind(emitted_);
  phase_ = opened_ ? Phase::run : Phase::open;
  known_ = *answer;
  if (opened_) batch_.start(emitted_, known_);
}

// The source was never read before. The start must be in the log before the first event is emitted. Otherwise a
// successor would look up "newest" again, and miss the events in between.
void Feed::find(Instant now) {
  const Result<source::StartAt> start = source::parse_start(parts_.spec.start, parts_.outside.wall_ms());
  const Result<std::uint64_t> base =
      start ? parts_.source.find(partition_, *start) : Result<std::uint64_t>(Failure(start.error()));
  if (!base) {
    voice_.set_trouble(base.error().message());
    pause_until_ = now + kSourceRetry;
    return;
  }
  state_.begin(*base);
  unsaved_ = true;
  phase_ = Phase::ask;
}

void Feed::open(Instant now) {
  const Status opened = parts_.source.open(partition_, emitted_, state_.marks_up_to(emitted_));
  if (!opened) {
    voice_.set_trouble(opened.error().message());
    pause_until_ = now + kSourceRetry;
    return;
  }
  opened_ = true;
  batch_.start(emitted_, known_);
  phase_ = Phase::run;
}

// Reads on from the position that the pool has, which may be below what this feed has emitted.
void Feed::reopen() {
  parts_.source.close(partition_);
  opened_ = false;
  held_.reset();
  saved_at_ = {};
  if (std::exchange(flight_, nullptr)) voice_.repeat();
  batch_.start(0, 0);
  phase_ = Phase::ask;
}

bool Feed::fetch(Instant now) {
  bool worked = false;
  while (hungry() && now >= read_pause_until_) {
    const std::size_t room = std::max<std::size_t>(parts_.bytes_max() - batch_.bytes(), 1);
    Result<source::Run> run = parts_.source.read(
        partition_, {.events = kEmitTasksMax - batch_.size(), .bytes = std::min(room, kEmitBytesMax)});
    if (!run) {
      note_source_error(run.error(), now);
      return worked;
    }
    voice_.set_trouble({});
    if (run->position == 0 && run->change == source::Change::none && !run->lost) return worked;
    worked = true;
    held_ = *std::move(run);
    if (!admit_held()) return worked;
  }
  return worked;
}

void Feed::note_source_error(const Error& error, Instant now) {
  voice_.set_trouble(error.message());
  read_pause_until_ = now + kSourceRetry;
  // The source retries by itself if it can. Otherwise the feed opens it again after it has emitted everything it read.
  if (error.code != Errc::unavailable && batch_.size() == 0 && !flight_) {
    reopen();
    pause_until_ = now + kReopenAfter;
  }
}

// False if the run has to wait until the batch before it was emitted.
bool Feed::admit_held() {
  if (!held_) return false;
  const bool alone = held_->change != source::Change::none || held_->lost.has_value();
  if (alone && (flight_ || batch_.size() != 0 || batch_.has_loss())) return false;
  if (!alone && batch_.size() >= kEmitTasksMax) return false;
  if (held_->change != source::Change::none) {
    change_to(*held_);
    held_->change = source::Change::none;
    if (phase_ != Phase::run) return false;  // the rest once the new sequence is in the log
  }
  batch_.add(*std::exchange(held_, std::nullopt));
  return true;
}

void Feed::change_to(const source::Run& run) {
  const bool anew = run.change == source::Change::anew;
  const std::string where = std::to_string(run.resumed);
  if (anew) {
    voice_.log(LogLevel::error,
               "it was deleted and made again, or is another one: it is read from its oldest event, "
               "behind position " +
                   where + "; what the old one still had is lost");
  } else {
    voice_.log(LogLevel::error, "it has lost its last events, of which the pool has those up to position " +
                                    std::to_string(emitted_) + ": reading goes on behind position " + where +
                                    ", and events in between may be done twice");
  }
  if (!anew && run.resumed >= emitted_) return;
  state_.renew(run.resumed, !anew, parts_.outside.random());
  // The next holder, too, must be able to see whether this is still the same event.
  if (run.anchor && run.anchor->position == run.resumed) state_.add_mark(*run.anchor);
  forget_at_.reset();
  unsaved_ = true;
  phase_ = Phase::ask;
}

}  // namespace tenure::feeder
