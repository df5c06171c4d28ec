#include "node/keys/runtime.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"
#include "base/mutant.h"
#include "base/utf8.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

// Reuses the record for another tenure, with all fields of the last one cleared.
template <class Said>
Said& fresh(Said& said, std::uint64_t epoch, const Bytes& key) {
  said.Clear();
  said.set_key(key);
  said.set_epoch(epoch);
  return said;
}

}  // namespace

Runtime::Runtime(Loop& loop, Host& host, Appender& appender, std::function<Nanos()> stop_patience,
                 std::uint32_t look_every)
    : loop_(loop),
      host_(host),
      appender_(appender),
      stop_patience_(std::move(stop_patience)),
      look_every_(look_every),
      record_(std::make_unique<v1::Record>()) {}

Runtime::~Runtime() = default;

void Runtime::begin(std::uint64_t session, std::function<std::int64_t()> lease_until) {
  session_ = session;
  lease_until_ = std::move(lease_until);
}

void Runtime::fence(std::function<void()> stopped) {
  if (session_ != 0 && !MUTANT(fence_forgets_jobs)) host_.fence(session_);
  session_ = 0;
  std::vector<std::uint64_t> spent;
  holds_.each([&](std::uint64_t epoch, const Held& held) {
    if (held.concluded || MUTANT(fence_forgets_jobs)) spent.push_back(epoch);
  });
  for (const std::uint64_t epoch : spent) holds_.erase(epoch);
  stopped_ = std::move(stopped);
  check_stopped();
}

void Runtime::granted(const At& /*at*/, const Grant& grant) {
  if (grant.tenure.session != session_ || session_ == 0) return;
  // A process that was frozen may read a grant before its watchdog has looked at the clock.
  if (lease_until_() <= loop_.now().since_boot.count()) return;
  Held& held = holds_[grant.tenure.epoch];
  held.key = grant.tenure.key;
  held.session = session_;
  held.ticket = grant.answer_in_log ? grant.ticket : 0;
  if (held.ticket != 0) held.worker = std::make_unique<Bytes>(grant.tenure.worker);
  host_.start({.hold = {.key = held.key, .epoch = grant.tenure.epoch},
               .session = session_,
               .worker = Bytes(grant.tenure.worker),
               .kind = grant.kind,
               .attempt = grant.attempt,
               .type = Bytes(grant.type),
               .payload = Bytes(grant.payload),
               .checkpoint = grant.has_checkpoint ? std::optional<Bytes>(grant.checkpoint) : std::nullopt});
  if (++granted_since_look_ >= look_every_) look_meanwhile();
}

// An entry that grants a thousand tenures takes the loop for a millisecond, and the first of them may have ended by
// then. Their ends go to the log while the rest is granted. Otherwise node and log would wait for each other.
void Runtime::look_meanwhile() {
  granted_since_look_ = 0;
  take_reports();
  appender_.send_meanwhile();
}

void Runtime::stop_asked(const At& /*at*/, const TenureRef& tenure, StopReason reason) {
  Held* held = holds_.find(tenure.epoch);
  if (tenure.session != session_ || held == nullptr) return;
  if (held->concluded || std::exchange(held->stopping, true)) return;
  host_.stop({held->key, tenure.epoch}, reason, loop_.now() + stop_patience_());
}

void Runtime::message(const At& /*at*/, const TenureRef& tenure, std::uint64_t number, BytesView text) {
  Held* held = holds_.find(tenure.epoch);
  if (tenure.session != session_ || held == nullptr || held->concluded) return;
  if (number <= held->last_message) return;
  held->last_message = number;
  host_.message({held->key, tenure.epoch}, number, text);
}

// Usually this is the echo of the host's own report, and nothing is left to do.
void Runtime::ended(const At& /*at*/, const TenureRef& tenure, TenureEnd /*why*/) {
  Held* held = holds_.find(tenure.epoch);
  if (held == nullptr || held->over) return;
  if (held->concluded) {
    holds_.erase(tenure.epoch);
    return;
  }
  held->over = true;
  if (held->session == session_ && !std::exchange(held->stopping, true)) {
    host_.stop({held->key, tenure.epoch}, StopReason::stop, loop_.now());
  }
}

std::size_t Runtime::running() const {
  std::size_t count = 0;
  holds_.each([&](std::uint64_t, const Held& held) { count += held.concluded ? 0 : 1; });
  return count;
}

// In the order of the grants.
void Runtime::stop_all(Instant deadline, const std::function<bool(const Hold&)>& wanted) {
  std::vector<Hold> holds;
  holds_.each([&](std::uint64_t epoch, Held& held) {
    if (held.concluded || held.stopping || !wanted({held.key, epoch})) return;
    held.stopping = true;
    holds.push_back({held.key, epoch});
  });
  std::sort(holds.begin(), holds.end(), [](const Hold& a, const Hold& b) { return a.epoch < b.epoch; });
  for (const Hold& hold : holds) host_.stop(hold, StopReason::move, deadline);
}

void Runtime::started(const Hold& hold) { report({.kind = Report::Kind::started, .epoch = hold.epoch}); }

void Runtime::begun(const Hold& hold) {
  report({.kind = Report::Kind::started, .epoch = hold.epoch, .tentative = true});
}

void Runtime::finished(const Hold& hold, Bytes result) {
  if (result.size() > kResultBytesMax) result.resize(kResultBytesMax);
  report({.kind = Report::Kind::finished, .epoch = hold.epoch, .text = std::move(result)});
}

void Runtime::failed(const Hold& hold, Next next, Bytes error, Nanos delay) {
  error.resize(cut_at_character(error, kErrorBytesMax).size());
  report({.kind = Report::Kind::failed, .epoch = hold.epoch, .text = std::move(error), .next = next, .delay = delay});
}

void Runtime::released(const Hold& hold) { report({.kind = Report::Kind::released, .epoch = hold.epoch}); }

void Runtime::released(const Hold& hold, Bytes blob) {
  // The machine would refuse a release with a blob over the limit, and the key would be stuck here.
  if (blob.size() > kBlobBytesMax) return released(hold);
  report({.kind = Report::Kind::released, .epoch = hold.epoch, .text = std::move(blob), .has_blob = true});
}

void Runtime::checkpoint(const Hold& hold, Bytes data) {
  report({.kind = Report::Kind::checkpoint, .epoch = hold.epoch, .text = std::move(data)});
}

void Runtime::handled(const Hold& hold, std::uint64_t message_number) {
  report({.kind = Report::Kind::handled, .epoch = hold.epoch, .message_number = message_number});
}

void Runtime::message_failed(const Hold& hold, std::uint64_t message_number, Bytes error) {
  error.resize(cut_at_character(error, kErrorBytesMax).size());
  report({.kind = Report::Kind::message_failed,
          .epoch = hold.epoch,
          .text = std::move(error),
          .message_number = message_number});
}

void Runtime::report(Report report) {
  const bool last = report.kind == Report::Kind::finished || report.kind == Report::Kind::failed;
  {
    std::lock_guard lock(mutex_);
    const bool newer = !reported_.empty() && report.kind == Report::Kind::checkpoint &&
                       reported_.back().kind == report.kind && reported_.back().epoch == report.epoch;
    if (newer) reported_.pop_back();
    reported_.push_back(std::move(report));
    end_of_job_ = end_of_job_ || (gathering_ > 0 && last);
    // the turn that takes the other reports takes this one, too
    if (gathering_ > 0 || std::exchange(turn_due_, true)) return;
  }
  call_loop(last);
}

void Runtime::together(const std::function<void()>& reports) {
  {
    std::lock_guard lock(mutex_);
    ++gathering_;
  }
  reports();
  bool last = false;
  {
    std::lock_guard lock(mutex_);
    if (--gathering_ > 0 || reported_.empty() || std::exchange(turn_due_, true)) return;
    last = std::exchange(end_of_job_, false);
  }
  call_loop(last);
}

// Ends of jobs come from a thread that is idle for the moment. But those of a fence must not wait.
void Runtime::call_loop(bool last) {
  auto work = token_.guard([this] { take_reports(); });
  last ? loop_.run_or_post(std::move(work)) : loop_.post(std::move(work));
}

void Runtime::take_reports() {
  {
    std::lock_guard lock(mutex_);
    taken_.swap(reported_);
    turn_due_ = false;
  }
  for (Report& report : taken_) take(report);
  taken_.clear();
  check_stopped();
}

// Reports about a tenure that is over, or under another session, would be refused anyway.
void Runtime::take(Report& report) {
  Held* held = holds_.find(report.epoch);
  if (held == nullptr || held->concluded) return;
  if (held->over || held->session != session_) {
    if (report.last()) holds_.erase(report.epoch);
    return;
  }
  if (report.kind == Report::Kind::checkpoint) {
    if (held->saving) {
      held->unsaved = std::make_unique<Bytes>(std::move(report.text));
    } else {
      save(report.epoch, *held, std::move(report.text));
    }
    return;
  }
  // The checkpoint goes before later reports. If one of them says that a message was handled, nobody gets the message
  // again.
  if (held->unsaved) save(report.epoch, *held, std::move(*std::exchange(held->unsaved, nullptr)));
  held->concluded = report.last();
  append(report, *held);
}

// Only the last checkpoint of a tenure counts. So while one is on its way to the log, later ones wait, and the newest
// of them follows. Otherwise a handler that makes them faster than the log takes them, or while the log is away, would
// fill the memory.
void Runtime::save(std::uint64_t epoch, Held& held, Bytes checkpoint) {
  v1::Checkpoint& said = fresh(*record_->mutable_checkpoint(), epoch, held.key);
  said.set_data(std::move(checkpoint));
  held.saving = true;
  appender_.offer(*record_, {nullptr, token_.guard([this, epoch](Position) { saved(epoch); })});
}

void Runtime::saved(std::uint64_t epoch) {
  Held* held = holds_.find(epoch);
  if (held == nullptr) return;
  held->saving = false;
  const std::unique_ptr<Bytes> newest = std::exchange(held->unsaved, nullptr);
  if (!newest || held->over || held->concluded || held->session != session_) return;
  save(epoch, *held, std::move(*newest));
}

void Runtime::check_stopped() {
  if (stopped_ && session_ == 0 && holds_.empty()) std::exchange(stopped_, nullptr)();
}

void Runtime::append(const Report& report, const Held& held) {
  switch (report.kind) {
    case Report::Kind::started: append_started(report, held); break;
    case Report::Kind::finished: append_finished(report, held); break;
    case Report::Kind::failed: append_failed(report, held); break;
    case Report::Kind::released: append_released(report, held); break;
    case Report::Kind::checkpoint: break;  // done by save()
    case Report::Kind::handled:
    case Report::Kind::message_failed: {
      v1::Notified& notified = fresh(*record_->mutable_notified(), report.epoch, held.key);
      notified.set_number(report.message_number);
      notified.set_failed(report.kind == Report::Kind::message_failed);
      notified.set_error(report.text);
      break;
    }
  }
  appender_.offer(*record_);
}

void Runtime::append_started(const Report& report, const Held& held) {
  v1::Started& started = fresh(*record_->mutable_started(), report.epoch, held.key);
  started.set_tentative(report.tentative);
  if (held.ticket == 0) return;
  started.set_ticket(held.ticket);
  started.set_session(held.session);
  if (held.worker) started.set_worker(*held.worker);
}

void Runtime::append_finished(const Report& report, const Held& held) {
  v1::Done& done = fresh(*record_->mutable_done(), report.epoch, held.key);
  done.set_result(report.text);
  if (held.ticket == 0) return;
  done.set_ticket(held.ticket);
  done.set_session(held.session);
}

void Runtime::append_failed(const Report& report, const Held& held) {
  v1::Failed& failed = fresh(*record_->mutable_failed(), report.epoch, held.key);
  failed.set_next(static_cast<v1::Failed::Next>(report.next));
  failed.set_error(report.text);
  failed.set_delay_ms(static_cast<std::uint64_t>(std::max<std::int64_t>(to_ms(report.delay), 0)));
}

void Runtime::append_released(const Report& report, const Held& held) {
  v1::Released& released = fresh(*record_->mutable_released(), report.epoch, held.key);
  released.set_has_blob(report.has_blob);
  released.set_blob(report.text);
}

}  // namespace tenure
