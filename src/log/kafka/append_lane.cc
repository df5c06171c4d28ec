#include "log/kafka/append_lane.h"

#include <pthread.h>

#include <chrono>

#include "log/kafka/errors.h"

namespace tenure::kafka {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The bound of a lane: waiting appends and those in flight. Above it an append fails with Errc::unavailable.
constexpr std::size_t kLaneBytesMax = 64U << 20;
constexpr std::size_t kLaneEntriesMax = 1U << 18;

// The thread looks around this often without any event.
constexpr int kLanePollMs = 1000;
// How long end() waits for librdkafka to give up its messages.
constexpr std::chrono::seconds kEndPatience{2};

}  // namespace

// An entry that is sent in pieces.
struct AppendLane::Giant {
  Bytes data;
  Log::AppendDone done;
  std::uint64_t link = 0;
  std::size_t left = 0;  // pieces without an answer, except the last
  std::int64_t first = INT64_MAX;
  rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
};

AppendLane::AppendLane(const KafkaSettings& settings, Lane lane, History& history, Client::Warn warn)
    : settings_(settings), lane_(lane), history_(history), warn_(std::move(warn)) {}

Status AppendLane::append(Bytes data, Log::AppendDone& done) {
  if (history_.lost()) return history_.loss();
  const std::lock_guard lock(mutex_);
  if (closing_) return fail(Errc::closed, "kafka append");
  if (ending_) return fail(Errc::lost_history, "kafka append", "the handle continues in another log");
  if (bytes_ + data.size() > kLaneBytesMax || sent_.size() + waiting_.size() >= kLaneEntriesMax) {
    return fail(Errc::unavailable, "kafka append", "too many appends of this process wait for the broker");
  }
  if (Status started = start(); !started) return started;
  if (giant_) {
    bytes_ += data.size();
    waiting_.push_back({std::move(data), std::move(done)});
    return {};
  }
  return send_entry(std::move(data), done);
}

// A handle that only reads never gets here.
Status AppendLane::start() {
  if (client_) return {};
  auto client = Client::make(settings_, Role::producer, warn_);
  if (!client) return Failure(client.error());
  client_ = *std::move(client);
  client_->topic(history_.topic());
  thread_ = std::thread([this] { serve(); });
  pthread_setname_np(thread_.native_handle(), lane_ == Lane::beat ? "tenure-beats" : "tenure-appends");
  return {};
}

Status AppendLane::send_entry(Bytes data, Log::AppendDone& done) {
  if (data.size() > kPieceBytes) {
    bytes_ += data.size();
    send_giant(std::move(data), std::move(done));
    return {};
  }
  const Key key{.kind = Kind::entry, .log = history_.log(), .link = entropy_.id()};
  if (lane_ == Lane::beat && !history_.sent_beat(key.link)) {
    return fail(Errc::unavailable, "kafka append", "too many beats of this process wait for the broker");
  }
  bytes_ += data.size();
  auto sent = std::make_unique<Sent>(Sent{std::move(done), key.link, data.size(), nullptr});
  const rd_kafka_resp_err_t code = produce(key, data, sent);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  unsent_.push_back({std::move(sent), code});
  client_->wake();
  return {};
}

rd_kafka_resp_err_t AppendLane::produce(const Key& key, BytesView value, std::unique_ptr<Sent>& sent) {
  const std::string name = encode(key);
  const int failed =
      rd_kafka_produce(client_->topic(history_.topic()), 0, RD_KAFKA_MSG_F_COPY, const_cast<char*>(value.data()),
                       value.size(), name.data(), name.size(), sent.get());
  if (failed != 0) return rd_kafka_last_error();
  sent_.insert(sent.release());
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void AppendLane::send_giant(Bytes data, Log::AppendDone done) {
  giant_ = std::make_shared<Giant>(Giant{std::move(data), std::move(done), entropy_.id()});
  if (lane_ == Lane::beat) static_cast<void>(history_.sent_beat(giant_->link));
  const std::size_t before_last = pieces_of(giant_->data.size()) - 1;
  giant_->left = before_last;
  for (std::size_t i = 0; i < before_last; ++i) {
    const Key key{
        .kind = Kind::piece, .log = history_.log(), .link = giant_->link, .index = static_cast<std::uint32_t>(i)};
    auto sent = std::make_unique<Sent>(Sent{nullptr, giant_->link, 0, giant_});
    const BytesView piece = BytesView(giant_->data).substr(i * kPieceBytes, kPieceBytes);
    const rd_kafka_resp_err_t code = produce(key, piece, sent);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    unsent_.push_back({std::move(sent), code});
    client_->wake();
  }
}

// The last answer sends the last piece. Readers skip pieces without a last one.
void AppendLane::took_piece(const Outcome& outcome) {
  const std::shared_ptr<Giant> giant = outcome.sent->giant;
  if (outcome.code != RD_KAFKA_RESP_ERR_NO_ERROR) giant->code = outcome.code;
  giant->first = std::min(giant->first, outcome.offset);
  if (--giant->left != 0) return;
  const std::size_t count = pieces_of(giant->data.size());
  const Key key{.kind = Kind::last,
                .log = history_.log(),
                .link = giant->link,
                .index = static_cast<std::uint32_t>(count - 1),
                .first = giant->first};
  auto sent = std::make_unique<Sent>(Sent{std::move(giant->done), giant->link, giant->data.size(), nullptr});
  rd_kafka_resp_err_t code = ending_ ? RD_KAFKA_RESP_ERR__PURGE_QUEUE : giant->code;
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
    code = produce(key, BytesView(giant->data).substr((count - 1) * kPieceBytes), sent);
  }
  if (sent) unsent_.push_back({std::move(sent), code});
  giant_.reset();
  send_waiting();
}

void AppendLane::send_waiting() {
  while (!giant_ && !waiting_.empty()) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    bytes_ -= next.data.size();
    const std::size_t bytes = next.data.size();
    const Status sent = send_entry(std::move(next.data), next.done);
    if (sent) continue;
    bytes_ += bytes;
    unsent_.push_back(
        {std::make_unique<Sent>(Sent{std::move(next.done), 0, bytes, nullptr}), RD_KAFKA_RESP_ERR__QUEUE_FULL});
  }
}

void AppendLane::serve() {
  Client& client = *client_;  // there until the thread has ended
  std::vector<Outcome> outcomes;
  while (!stop_now()) {
    Event event = client.poll_reports(kLanePollMs);
    {
      const std::lock_guard lock(mutex_);
      if (event) take(*event, outcomes);
      for (std::size_t i = 0; i < unsent_.size(); ++i) {
        Outcome next = std::move(unsent_[i]);  // took_piece() may add more
        next.sent->giant ? took_piece(next) : outcomes.push_back(std::move(next));
      }
      unsent_.clear();
    }
    if (!outcomes.empty()) answer(outcomes);
  }
}

bool AppendLane::stop_now() {
  if (closing_) return true;
  const std::lock_guard lock(mutex_);
  return ending_ && sent_.empty() && unsent_.empty() && waiting_.empty() && !giant_;
}

void AppendLane::take(rd_kafka_event_t& event, std::vector<Outcome>& outcomes) {
  while (const rd_kafka_message_t* const message = rd_kafka_event_message_next(&event)) {
    Outcome outcome{std::unique_ptr<Sent>(static_cast<Sent*>(message->_private)), message->err,
                    rd_kafka_message_status(message), message->offset};
    sent_.erase(outcome.sent.get());
    outcome.sent->giant ? took_piece(outcome) : outcomes.push_back(std::move(outcome));
  }
}

// A broker that stopped answering may have the beat. The proof is tried for as long as an append may take.
Status AppendLane::prove_patiently() {
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(settings_.timeout_ms);
  for (;;) {
    Status held = history_.prove();
    if (held || held.error().code == Errc::lost_history || closing_ || SteadyClock::now() > deadline) return held;
  }
}

void AppendLane::answer(std::vector<Outcome>& outcomes) {
  bool appended = false;
  bool no_topic = false;
  for (const Outcome& outcome : outcomes) {
    appended = appended || outcome.code == RD_KAFKA_RESP_ERR_NO_ERROR;
    no_topic = no_topic || names_no_topic(outcome.code);
  }
  Status proof;
  if (!history_.lost() && ((lane_ == Lane::beat && appended) || no_topic)) proof = prove_patiently();
  std::size_t bytes = 0;
  for (Outcome& outcome : outcomes) {
    if (closing_) break;
    Result<Position> result = result_of(outcome, proof);
    bytes += outcome.sent->bytes;
    if (lane_ == Lane::beat && (result || outcome.status == RD_KAFKA_MSG_STATUS_NOT_PERSISTED)) {
      history_.forget_beat(outcome.sent->link);
    }
    if (result) history_.see({outcome.offset, outcome.sent->link});
    outcome.sent->done(std::move(result));
  }
  outcomes.clear();
  const std::lock_guard lock(mutex_);
  bytes_ -= bytes;
}

Result<Position> AppendLane::result_of(const Outcome& outcome, const Status& proof) const {
  const bool persisted = outcome.code == RD_KAFKA_RESP_ERR_NO_ERROR;
  const bool in_doubt = persisted || outcome.status != RD_KAFKA_MSG_STATUS_NOT_PERSISTED;
  if (history_.lost()) {
    if (lane_ == Lane::beat || !in_doubt) return history_.loss();
    return fail(Errc::unknown, "kafka append", history_.shown() + ": the log's history was lost meanwhile");
  }
  if (!persisted) {
    const bool purged =
        outcome.code == RD_KAFKA_RESP_ERR__PURGE_QUEUE || outcome.code == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
    if (purged && !in_doubt) return fail(Errc::lost_history, "kafka append", "the handle continues in another log");
    return Failure(append_error_of(outcome.code, outcome.status, history_.shown()));
  }
  if (lane_ == Lane::data || proof) return position_of(outcome.offset);
  return fail(Errc::unknown, "kafka append", proof.error().context);
}

void AppendLane::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    if (!client_) return;
    rd_kafka_purge(client_->get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
    client_->wake();
  }
  const auto deadline = SteadyClock::now() + kEndPatience;
  while (!stop_now() && SteadyClock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void AppendLane::close() {
  std::call_once(closed_, [this] {
    closing_ = true;
    std::deque<Waiting> waiting;  // destroyed without the lock, because a callback may own anything
    std::vector<Outcome> unsent;
    std::unordered_set<Sent*> sent;
    std::shared_ptr<Giant> giant;
    {
      const std::lock_guard lock(mutex_);
      if (client_) client_->wake();
    }
    if (thread_.joinable()) thread_.join();
    {
      const std::lock_guard lock(mutex_);
      waiting.swap(waiting_);
      unsent.swap(unsent_);
      sent.swap(sent_);
      giant.swap(giant_);
      client_.reset();
    }
    for (Sent* const message : sent) delete message;
  });
}

}  // namespace tenure::kafka
