#include "source/kafka/kafka_partition.h"

#include <algorithm>
#include <utility>

#include "log/kafka/errors.h"
#include "source/kafka/record_event.h"

namespace tenure::source {
namespace {

constexpr Nanos kProveEvery = std::chrono::seconds(1);
constexpr Nanos kRestAfter = std::chrono::seconds(1);

bool is_out_of_range(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET || code == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
}

}  // namespace

void KafkaPartition::open(std::uint64_t after, std::vector<Mark> marks) {
  stop();
  ready_.clear();
  ready_bytes_ = 0;
  broken_ = false;
  lost_.reset();
  change_ = Change::none;
  error_.reset();
  note_.reset();
  fetched_ = told_ = after;
  std::erase_if(marks, [&](const Mark& mark) { return mark.hash == 0 || mark.position > after; });
  marks_.start(std::move(marks));
  anchor_ = 0;
  doubted_ = {.after = after, .marks = marks_.all(), .anchor = 0};
  asks_ = true;
}

void KafkaPartition::stop() {
  fetch_.stop();
  trust_ = Trust::stopped;
  resting_ = false;
}

// From here on the records may come from any broker.
void KafkaPartition::begin(std::uint64_t after) {
  fetched_ = after;
  broker_ = -1;
  gone_ = false;
  refetch();
}

void KafkaPartition::refetch() {
  fetch_.stop();
  at_end_ = resting_ = false;
  const Status started = fetch_.start(offset_of_position(fetched_ + 1));
  trust_ = Trust::running;
  if (started) return;
  doubt();
  trust_ = Trust::stopped;
  error_ = started.error();
}

Result<Run> KafkaPartition::read(const ReadLimits& limits, Instant now) {
  read_at_ = now;
  if (resting_) refetch();
  if (trust_ == Trust::running) fill(limits);
  if (trust_ != Trust::running) {
    if (error_) return Failure(*error_);
    return Run{};
  }
  if (note_ && ready_.empty()) return Failure(*std::exchange(note_, std::nullopt));
  return next_run(limits);
}

bool KafkaPartition::enough(const ReadLimits& limits) const {
  return ready_.size() >= limits.events || ready_bytes_ >= limits.bytes;
}

void KafkaPartition::fill(const ReadLimits& limits) {
  while (trust_ == Trust::running && !enough(limits)) {
    const auto messages = fetch_.take(limits.events - ready_.size());
    if (messages.empty()) break;
    for (const kafka::Message& message : messages) take(*message);
  }
  if (trust_ == Trust::running && !at_end_ && fetch_.stalled()) refetch();
}

void KafkaPartition::take(const rd_kafka_message_t& message) {
  if (trust_ == Trust::stopped) return;
  if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) return take_record(message);
  if (message.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    // Behind the last event there may be markers of transactions.
    fetched_ = std::max(fetched_, position_of_offset(message.offset) - 1);
    at_end_ = true;
    return;
  }
  doubt();
  if (kafka::names_no_topic(message.err)) return;
  stop();
  if (is_out_of_range(message.err)) return;
  const char* const text = rd_kafka_message_errstr(&message);
  error_ = kafka::error_of(message.err, "read", topic_, text == nullptr ? "" : text);
}

void KafkaPartition::take_record(const rd_kafka_message_t& message) {
  if (position_of_offset(message.offset) <= fetched_) return;
  const std::int32_t broker = rd_kafka_message_broker_id(&message);
  const std::uint64_t connections = client_.connections();
  const bool same = broker_ < 0 || (broker == broker_ && connections == connections_);
  broker_ = broker;
  connections_ = connections;
  if (!same) doubt();
  Event event = event_of(message);
  marks_.add(mark_of(event));
  fetched_ = event.position;
  at_end_ = false;
  ready_bytes_ += event.bytes();
  ready_.push_back(std::move(event));
}

void KafkaPartition::doubt() {
  if (trust_ != Trust::running) return;
  trust_ = Trust::in_doubt;
  doubted_ = {.after = fetched_, .marks = marks_.all(), .anchor = anchor_};
  asks_ = true;
}

void KafkaPartition::rest(Instant now) {
  if (trust_ != Trust::running || resting_ || now - read_at_ < kRestAfter || fetch_.waiting() == 0) return;
  fetch_.stop();
  resting_ = true;
}

// Without doubt, it is looked at when something new was read, and not while another look is being taken.
std::optional<KafkaPartition::Question> KafkaPartition::take_question(Instant now) {
  const bool idle = !asking_ && trust_ == Trust::running && now - proved_at_ >= kProveEvery;
  const bool due = idle && (looks_ || marks_.newest() > anchor_);
  if (!asks_ && !due) return std::nullopt;
  if (!asks_) doubted_ = {.after = fetched_, .marks = marks_.all(), .anchor = anchor_};
  asks_ = looks_ = false;
  asking_ = true;
  proved_at_ = now;
  asked_mark_ = doubted_.marks.empty() ? 0 : doubted_.marks.back().position;
  return Question{.question = doubted_, .begins = trust_ == Trust::stopped || gone_};
}

void KafkaPartition::hear(const Result<SurveyAnswer>& answer) {
  if (!answer) {
    const bool goes = !gone_ && answer.error().code == Errc::no_such_key;
    // A broker that does not answer says nothing against what it has sent.
    if (trust_ == Trust::running && answer.error().code == Errc::unavailable) {
      note_ = answer.error();
      return;
    }
    doubt();
    // The surveyor goes on asking. But the answer to come begins something.
    gone_ = gone_ || goes;
    asks_ = goes;
    error_ = answer.error();
    return;
  }
  asking_ = false;
  error_.reset();
  note_.reset();
  if (answer->change != Change::none) return go_back(*answer);
  anchor_ = std::max(anchor_, asked_mark_);
  if (trust_ == Trust::running) return;
  if (trust_ == Trust::in_doubt && fetch_.running() && !gone_) {
    trust_ = Trust::running;
    return;
  }
  if (trust_ == Trust::stopped && answer->lost) break_behind(fetched_, *answer);
  begin(std::max(answer->start, fetched_));
}

// What was fetched behind the place where reading goes on is of a partition that is gone.
void KafkaPartition::go_back(const SurveyAnswer& answer) {
  const std::uint64_t kept = answer.change == Change::anew ? 0 : answer.start;
  while (!ready_.empty() && ready_.back().position > kept) {
    ready_bytes_ -= ready_.back().bytes();
    ready_.pop_back();
  }
  marks_.cut(kept);
  anchor_ = marks_.newest();
  told_ = std::min(told_, answer.start);
  break_behind(kept, answer);
  begin(answer.start);
}

// A change that has not been reported is part of the next one.
void KafkaPartition::break_behind(std::uint64_t position, const SurveyAnswer& answer) {
  break_at_ = position;
  lost_ = answer.lost;
  if (change_ != Change::anew && answer.change != Change::none) change_ = answer.change;
  resumed_ = answer.start;
  resumed_anchor_ = marks_.newest_mark();
  broken_ = true;
}

Run KafkaPartition::next_run(const ReadLimits& limits) {
  Run run;
  const bool together = !broken_ || ready_.empty() || !before_break(ready_.front());
  if (together && broken_) {
    broken_ = false;
    run.lost = std::exchange(lost_, std::nullopt);
    run.change = std::exchange(change_, Change::none);
    run.resumed = run.change == Change::none ? 0 : resumed_;
    if (run.change == Change::cut) run.anchor = resumed_anchor_;
  }
  std::size_t bytes = 0;
  while (!ready_.empty() && run.events.size() < limits.events) {
    if (!together && !before_break(ready_.front())) break;
    const std::size_t size = ready_.front().bytes();
    if (!run.events.empty() && bytes + size > limits.bytes) break;
    bytes += size;
    run.events.push_back(std::move(ready_.front()));
    ready_.pop_front();
  }
  ready_bytes_ -= bytes;
  std::uint64_t position = run.lost ? run.lost->last : 0;
  if (!run.events.empty()) position = run.events.back().position;
  if (ready_.empty() && together) position = std::max(position, fetched_);
  if (position > told_) run.position = told_ = position;
  return run;
}

}  // namespace tenure::source
