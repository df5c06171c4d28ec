#include "node/appender.h"

#include <iterator>
#include <utility>

#include "base/mutant.h"
#include "machine/encode.h"
#include "machine/limits.h"
#include "node/batch_head.h"

namespace tenure {
namespace {

using std::chrono::milliseconds;

constexpr Nanos kResendBase = milliseconds(5);
constexpr Nanos kResendCap = milliseconds(500);
constexpr std::size_t kUnmetMax = 1U << 16;  // if a reader is further behind, the oldest are not checked

}  // namespace

Appender::Appender(Log& log, Loop& loop, const Clock& clock, Entropy& entropy, AppenderEvents& events)
    : log_(log),
      loop_(loop),
      clock_(clock),
      events_(events),
      backoff_(kResendBase, kResendCap, entropy),
      sender_(entropy.id()),
      retry_(loop) {}

void Appender::offer(const v1::Record& record, Milestones milestones) { gather(own_, record, std::move(milestones)); }

void Appender::offer_behind_requests(const v1::Record& record, Milestones milestones) {
  gather(requests_, record, std::move(milestones));
}

void Appender::offer_request(BytesView encoded, Milestones milestones) {
  Gathered& last = gathering(requests_);
  const std::size_t before = last.records.size();
  last.records.append(encoded);
  gathered(last, before, std::move(milestones));
}

void Appender::offer_requests(Bytes& encoded) {
  if (encoded.size() < kBatchBytes / 2) return offer_request(encoded);
  requests_.push_back({std::exchange(encoded, std::exchange(spare_, {})), {}});
  gathered(requests_.back(), 0, {});
}

void Appender::gather(Queue& queue, const v1::Record& record, Milestones milestones) {
  Gathered& last = gathering(queue);
  const std::size_t before = last.records.size();
  append_record(record, last.records);
  gathered(last, before, std::move(milestones));
}

Appender::Gathered& Appender::gathering(Queue& queue) {
  if (!queue.empty() && queue.back().records.size() < kBatchBytes) return queue.back();
  const bool flood = !queue.empty();
  queue.push_back({std::exchange(spare_, {}), {}});
  // After a full batch, the next one will be full too. Growing step by step would copy and touch twice as much.
  if (flood) queue.back().records.reserve(kBatchBytes + kLastRecordRoom);
  return queue.back();
}

void Appender::gathered(Gathered& last, std::size_t before, Milestones milestones) {
  waiting_bytes_ += last.records.size() - before;
  if (milestones.sent || milestones.appended) last.milestones.push_back(std::move(milestones));
  schedule();
}

bool Appender::has_room() {
  const bool room = waiting_bytes_ < kUnsentBytesMax;
  room_wanted_ = room_wanted_ || !room;
  return room;
}

// In a separate turn of the loop: the listener will offer more, which must not happen during a send or an entry.
void Appender::tell_room() {
  if (!room_wanted_ || waiting_bytes_ >= kUnsentBytesMax) return;
  room_wanted_ = false;
  loop_.post(token_.guard([this] { events_.append_has_room(); }));
}

// The log may lose appended batches before anybody has read them. Batches are sent one after another and are in the log
// in that order. If a later batch is met first, or the position of an older one was passed, the older one is gone.
bool Appender::all_met(Position at, std::uint64_t sequence) {
  bool missing = false;
  if (sequence > met_) {
    met_ = sequence;
    for (; !unmet_.empty() && unmet_.front().sequence <= sequence; unmet_.pop_front()) {
      missing = missing || unmet_.front().sequence < sequence;
    }
  }
  for (; !unmet_.empty() && unmet_.front().position <= at; unmet_.pop_front()) missing = true;
  return !missing;
}

void Appender::reader_reloaded() {
  unmet_.clear();
  met_ = 0;
}

// Everything that is offered in one turn of the loop is sent together.
void Appender::schedule() {
  if (under_way_ || scheduled_) return;
  scheduled_ = true;
  loop_.post(token_.guard([this] {
    scheduled_ = false;
    send_next();
  }));
}

void Appender::send_next() {
  if (under_way_ || (own_.empty() && requests_.empty())) return;
  empty_batch(sender_, ++sequence_, clock_.wall_ms()).SerializeToString(&batch_);
  take_first(own_);
  take_first(requests_);
  tell_room();
  under_way_ = true;
  in_doubt_ = false;
  first_sent_ = loop_.now();
  for (const Milestones& milestone : milestones_) {
    if (milestone.sent) milestone.sent(first_sent_);
  }
  transmit();
}

// Moves records into the batch that is about to be sent.
void Appender::take_first(Queue& queue) {
  if (queue.empty()) return;
  Gathered& first = queue.front();
  batch_ += first.records;
  waiting_bytes_ -= first.records.size();
  std::move(first.milestones.begin(), first.milestones.end(), std::back_inserter(milestones_));
  if (first.records.capacity() <= 2 * kBatchBytes) {
    first.records.clear();
    spare_ = std::move(first.records);
  }
  queue.pop_front();
}

void Appender::transmit() {
  auto look = token_.guard([this] { look_for_answer(); });
  log_.append(Lane::data, batch_,
              [loop = &loop_, answer = answer_, look = std::move(look)](Result<Position> came) mutable {
                answer->put(std::move(came));
                loop->run_or_post(std::move(look));
              });
}

void Appender::Answer::put(Result<Position> answer) {
  std::lock_guard lock(mutex);
  came = std::move(answer);
}

std::optional<Result<Position>> Appender::Answer::take() {
  std::lock_guard lock(mutex);
  return std::exchange(came, std::nullopt);
}

// send_meanwhile() may have taken the answer without sending. Records that were offered while the batch was in flight
// waited for this turn, and maybe nobody will ever offer more.
void Appender::look_for_answer() {
  if (std::optional<Result<Position>> answer = answer_->take()) return answered(*std::move(answer));
  send_next();
}

// A listener could request something that is not allowed during an entry, so the calls wait.
void Appender::send_meanwhile() {
  if (under_way_ && milestones_.empty()) {
    std::lock_guard lock(answer_->mutex);
    if (answer_->came && *answer_->came && !delayed_) acknowledged(**std::exchange(answer_->came, std::nullopt));
  }
  if (under_way_ || own_.empty() || loop_.now() - rests_from_ < took_) return;
  if (!own_.front().milestones.empty() || (!requests_.empty() && !requests_.front().milestones.empty())) return;
  send_next();
}

void Appender::acknowledged(Position position) {
  backoff_.reset();
  under_way_ = false;
  rests_from_ = loop_.now();
  took_ = rests_from_ - first_sent_;
  if (sequence_ > met_) unmet_.push_back({sequence_, position});
  if (unmet_.size() > kUnmetMax) unmet_.pop_front();
}

void Appender::answered(Result<Position> answer) {
  if (answer) {
    acknowledged(*answer);
    if (std::exchange(delayed_, false)) events_.append_resumed();
    for (const Milestones& milestone : std::exchange(milestones_, {})) {
      if (milestone.appended) milestone.appended(*answer);
    }
    return send_next();
  }
  const Errc code = answer.error().code;
  // After lost history the engine accepts appends again once the replica has reloaded.
  const bool passing =
      code == Errc::unknown || code == Errc::unavailable || code == Errc::full || code == Errc::lost_history;
  if (!passing) return events_.append_refused(answer.error());
  in_doubt_ = in_doubt_ || code == Errc::unknown;
  const bool sure = !in_doubt_ && (code == Errc::unavailable || code == Errc::full);
  if (sure && !std::exchange(delayed_, true)) events_.append_delayed(answer.error());
  const bool too_late = in_doubt_ && loop_.now() - first_sent_ > milliseconds(kResendMsMax);
  if (too_late || (in_doubt_ && MUTANT(unsent_forgotten))) {
    under_way_ = false;
    if (too_late) events_.append_gave_up();
    return send_next();
  }
  retry_.arm(loop_.now() + backoff_.next(), [this] { transmit(); });
}

}  // namespace tenure
