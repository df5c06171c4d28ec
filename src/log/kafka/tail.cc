#include "log/kafka/tail.h"

#include <pthread.h>

#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "log/kafka/errors.h"

namespace tenure::kafka {
namespace {

// The target size of a run.
constexpr std::size_t kRunBytes = 1U << 20;
constexpr std::size_t kRunEntries = 1024;
// How often the history is proved while a read is outstanding.
constexpr std::int64_t kProveEveryMs = 1000;
// Pause before a look is repeated that the broker did not answer.
constexpr std::chrono::milliseconds kProofPause{50};
constexpr std::size_t kRaisedMax = 1024;
constexpr std::size_t kGiantsMax = 256;

std::int64_t now_ms() { return to_ms(BootClock().now().since_boot); }

}  // namespace

Tail::Tail(const KafkaSettings& settings, History& history, Prober& prober, Mark birth, Client::Warn warn)
    : settings_(settings), history_(history), prober_(prober), birth_(birth), warn_(std::move(warn)) {}

void Tail::read(Cursor after, Log::ReadDone done) {
  const std::lock_guard lock(mutex_);
  if (closing_) return;
  ASSERT(!done_);
  after_ = after;
  done_ = std::move(done);
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { serve(); });
    pthread_setname_np(thread_.native_handle(), "tenure-tail");
  }
  changed_.notify_all();
}

void Tail::know(KnownTime time) {
  const std::lock_guard lock(mutex_);
  known_ = time;
}

void Tail::lose() { wake(); }

void Tail::wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
  if (client_) client_->wake();
}

void Tail::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return done_ || stopping(); });
    if (closing_ || !done_) break;
    const Cursor after = after_;
    lock.unlock();
    Result<std::vector<Entry>> run = next_run(after);
    lock.lock();
    if (closing_) break;
    Log::ReadDone done;
    done.swap(done_);
    lock.unlock();
    done(std::move(run));
    done = nullptr;
    lock.lock();
  }
  lock.unlock();
  stop_fetching();
}

Result<std::vector<Entry>> Tail::next_run(Cursor after) {
  for (;;) {
    if (history_.lost()) return history_.loss();
    if (ending_) return fail(Errc::lost_history, "kafka read", "the handle continues in another log");
    if (!fetching_ || !(after == at_)) {
      if (Status located = locate(after); !located) return Failure(located.error());
    }
    auto run = wait_for_run();
    if (run) return run;
    stop_fetching();
    if (std::exchange(overtaken_, false)) continue;  // finding the cursor shows whether its entry was trimmed, too
    if (!stopping() && run.error().code == Errc::lost_history) history_.lose(run.error());
    return run;
  }
}

// Positions the consumer behind the cursor, and proves the cursor.
Status Tail::locate(Cursor after) {
  stop_fetching();
  if (Status found = find_cursor(after); !found) {
    if (found.error().code == Errc::lost_history) history_.lose(found.error());
    return found;
  }
  at_ = after;
  proved_at_ms_ = now_ms();
  return begin_at(last_.offset + 1);
}

Status Tail::find_cursor(Cursor after) {
  KnownTime known;
  {
    const std::lock_guard lock(mutex_);
    known = known_;
  }
  const std::function<bool()> stops = [this] { return stopping(); };
  const auto found = FindCursor(history_, prober_, birth_, stops).find(after, known);
  if (!found) return Failure(found.error());
  last_ = found->mark;
  clamp_ = found->clamp;
  return history_.prove();
}

Status Tail::begin_at(std::int64_t offset) {
  if (!client_) {
    auto client = Client::make(settings_, Role::tail, warn_);
    if (!client) return Failure(client.error());
    const std::lock_guard lock(mutex_);
    client_ = *std::move(client);
  }
  client_->drain();  // what is left of the fetches before
  const int begun = rd_kafka_consume_start_queue(client_->topic(history_.topic()), 0, offset, client_->queue());
  if (begun != 0) return Failure(client_->explain(rd_kafka_last_error(), "read"));
  fetching_ = true;
  broker_ = -1;
  connections_ = client_->connections();
  suspect_ = false;
  return {};
}

void Tail::stop_fetching() {
  if (!fetching_) return;
  fetching_ = false;
  rd_kafka_consume_stop(client_->topic(history_.topic()), 0);
}

// Entries before a record that cannot be taken are good and are handed over. The next read meets that record again.
Result<std::vector<Entry>> Tail::wait_for_run() {
  std::vector<Entry> run;
  std::size_t bytes = 0;
  Status taken;
  while (taken && bytes < kRunBytes && run.size() < kRunEntries) {
    if (stopping() || history_.lost()) return fail(Errc::lost_history, "kafka read", "the history was lost");
    const Message message = client_->poll_message(run.empty() ? static_cast<int>(kProveEveryMs) : 0);
    if (client_->take_topic_error(history_.topic())) proved_at_ms_ = 0;  // the topic may be gone
    if (message) {
      const std::size_t before = run.size();
      taken = take(*message, run);
      if (run.size() > before) bytes += run.back().data.size();
    }
    if (taken) taken = prove_if_due();
    if (!message && !run.empty()) break;
  }
  if (run.empty()) return Failure(taken.error());
  if (!taken) stop_fetching();
  at_ = Cursor::at(run.back());
  return run;
}

// No answer from the broker proves nothing. A refusal that lasts ends the reading.
Status Tail::prove_if_due() {
  if (now_ms() - proved_at_ms_ < kProveEveryMs) return {};
  Status held = history_.prove();
  proved_at_ms_ = now_ms();
  const bool final = !held && (held.error().code == Errc::lost_history || held.error().code == Errc::refused);
  return final ? held : Status();
}

Status Tail::take(const rd_kafka_message_t& message, std::vector<Entry>& run) {
  if (message.err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET || message.err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
    overtaken_ = true;
    return fail(Errc::trimmed, "kafka read", history_.shown());
  }
  if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR)
    return message.offset <= last_.offset ? Status() : take_record(message, run);
  proved_at_ms_ = 0;
  return names_no_topic(message.err) ? Status() : Status(Failure(client_->explain(message.err, "read")));
}

// Records of another connection, or another broker, may be those of another history.
Status Tail::check_source(const rd_kafka_message_t& message) {
  const std::uint64_t connections = client_->connections();
  const std::int32_t broker = rd_kafka_message_broker_id(&message);
  const bool other = connections != connections_ || (broker_ >= 0 && broker != broker_);
  connections_ = connections;
  broker_ = broker;
  suspect_ = suspect_ || other;
  if (!suspect_) return {};
  for (;;) {
    Status held = last_.offset > birth_.offset ? history_.prove(last_) : history_.prove();
    if (held || held.error().code == Errc::lost_history) {
      suspect_ = !held;
      return held;
    }
    if (stopping()) return held;
    std::this_thread::sleep_for(kProofPause);
  }
}

Status Tail::prove_beat(std::uint64_t link) {
  for (;;) {
    Status held = history_.prove();
    if (held) history_.forget_beat(link);
    if (held || held.error().code == Errc::lost_history || stopping()) return held;
    std::this_thread::sleep_for(kProofPause);
  }
}

Status Tail::take_record(const rd_kafka_message_t& message, std::vector<Entry>& run) {
  if (Status good = check_source(message); !good) return good;
  Stored stored = stored_of(message);
  const bool foreign = !stored.key || stored.key->log != history_.log();
  if (foreign) {
    // A record of another program, or of an earlier log in this topic; or this is another log.
    return history_.prove();
  }
  if (stored.key->kind != Kind::entry && stored.key->kind != Kind::last) return {};
  if (stored.key->kind == Kind::last) {
    if (Status whole = take_giant(stored); !whole) return whole;
  }
  if (!stored.broker_time) {
    return fail(Errc::refused, "kafka read",
                history_.shown() + ": " + history_.topic() + " does not have message.timestamp.type=LogAppendTime");
  }
  if (history_.is_unproven(stored.key->link)) {
    if (Status held = prove_beat(stored.key->link); !held) return held;
  }
  const std::int64_t time_ms = clamp_.next(stored.time_ms);
  const Position position = position_of(stored.offset);
  remember(position, stored.time_ms, time_ms);
  last_ = {stored.offset, stored.key->link};
  history_.see(last_);
  run.push_back({position, time_ms, std::move(stored.value)});
  return {};
}

// All pieces were acknowledged before the last one was sent. Without them the entry was trimmed.
Status Tail::take_giant(Stored& stored) {
  auto whole = prober_.entry_at(history_.topic(), stored.offset);
  if (!whole) return Failure(whole.error());
  if (!*whole)
    return fail(Errc::trimmed, "kafka read", history_.shown() + ": the first pieces of an entry were trimmed");
  stored = **std::move(whole);
  const std::lock_guard lock(mutex_);
  if (giants_.size() >= kGiantsMax) giants_.erase(giants_.begin(), giants_.begin() + kGiantsMax / 2);
  giants_.emplace_back(stored.key->first, stored.offset);
  return {};
}

std::int64_t Tail::whole_before(std::int64_t offset) {
  const std::lock_guard lock(mutex_);
  for (auto giant = giants_.rbegin(); giant != giants_.rend(); ++giant) {
    if (giant->first < offset && offset <= giant->second) offset = giant->first;
  }
  return offset;
}

void Tail::remember(Position position, std::int64_t broker_ms, std::int64_t time_ms) {
  if (broker_ms == time_ms) return;
  const std::lock_guard lock(mutex_);
  if (raised_.size() >= kRaisedMax) raised_.erase(raised_.begin(), raised_.begin() + kRaisedMax / 2);
  raised_.push_back({position, time_ms});
}

std::int64_t Tail::time_at(Cursor cursor) {
  const std::lock_guard lock(mutex_);
  for (const KnownTime& one : raised_) {
    if (one.position == cursor.position) return one.time_ms;
  }
  return known_.position == cursor.position ? known_.time_ms : 0;
}

void Tail::end() {
  ending_ = true;
  wake();
  if (thread_.joinable()) thread_.join();
}

void Tail::close() {
  closing_ = true;
  wake();
  std::call_once(closed_, [this] {
    if (thread_.joinable()) thread_.join();
    Log::ReadDone unrun;  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    unrun.swap(done_);
    client_.reset();
  });
}

}  // namespace tenure::kafka
