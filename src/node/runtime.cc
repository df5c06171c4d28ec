#include "node/runtime.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"
#include "base/mutant.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

Runtime::Runtime(Loop& loop, Host& host, Appender& appender) : loop_(loop), host_(host), appender_(appender) {}

void Runtime::begin(std::uint64_t session, std::function<std::int64_t()> lease_until) {
  session_ = session;
  lease_until_ = std::move(lease_until);
}

void Runtime::fence(std::function<void()> stopped) {
  if (session_ != 0 && !MUTANT(fence_forgets_jobs)) host_.fence(session_);
  session_ = 0;
  std::erase_if(holds_, [](const auto& entry) { return entry.second.concluded || MUTANT(fence_forgets_jobs); });
  stopped_ = std::move(stopped);
  check_stopped();
}

void Runtime::granted(const Grant& grant) {
  if (grant.tenure.session != session_ || session_ == 0) return;
  // A process that was frozen may read of a grant before its watchdog has looked at the clock.
  if (lease_until_() <= loop_.now().since_boot.count()) return;
  Held& held = holds_[grant.tenure.epoch];
  held.key = grant.tenure.key;
  held.session = session_;
  held.ticket = grant.say ? grant.ticket : 0;
  host_.start({{held.key, grant.tenure.epoch},
               session_,
               Bytes(grant.tenure.worker),
               grant.kind,
               grant.attempt,
               Bytes(grant.payload),
               grant.has_checkpoint,
               Bytes(grant.checkpoint)});
}

void Runtime::stop_asked(const TenureRef& tenure, StopReason reason, Nanos patience) {
  const auto held = holds_.find(tenure.epoch);
  if (tenure.session != session_ || held == holds_.end()) return;
  if (held->second.concluded || std::exchange(held->second.stopping, true)) return;
  host_.stop({held->second.key, tenure.epoch}, reason, loop_.now() + patience);
}

void Runtime::message(const TenureRef& tenure, std::uint64_t number, BytesView text) {
  const auto held = holds_.find(tenure.epoch);
  if (tenure.session != session_ || held == holds_.end() || held->second.concluded) return;
  if (number <= held->second.last_message) return;
  held->second.last_message = number;
  host_.message({held->second.key, tenure.epoch}, number, text);
}

// Usually the answer to the host's own report, and then there is nothing left to do.
void Runtime::ended(const TenureRef& tenure) {
  const auto held = holds_.find(tenure.epoch);
  if (held == holds_.end() || held->second.over) return;
  if (held->second.concluded) {
    holds_.erase(held);
    return;
  }
  held->second.over = true;
  if (!held->second.stopping && held->second.session == session_) {
    held->second.stopping = true;
    host_.stop({held->second.key, tenure.epoch}, StopReason::stop, loop_.now());
  }
}

std::size_t Runtime::running() const {
  return static_cast<std::size_t>(
      std::count_if(holds_.begin(), holds_.end(), [](const auto& entry) { return !entry.second.concluded; }));
}

void Runtime::stop_all(Instant deadline) {
  for (auto& [epoch, held] : holds_) {
    if (held.concluded || std::exchange(held.stopping, true)) continue;
    host_.stop({held.key, epoch}, StopReason::move, deadline);
  }
}

void Runtime::report(const Hold& hold, std::function<void(const Held&)> say) {
  loop_.post(token_.guard([this, epoch = hold.epoch, say = std::move(say)] {
    const auto held = holds_.find(epoch);
    if (held == holds_.end() || held->second.over || held->second.concluded) return;
    if (held->second.session == session_) say(held->second);
  }));
}

void Runtime::conclude(const Hold& hold, std::function<void(const Held&)> say) {
  loop_.post(token_.guard([this, epoch = hold.epoch, say = std::move(say)] {
    const auto held = holds_.find(epoch);
    if (held == holds_.end() || held->second.concluded) return;
    if (!held->second.over && held->second.session == session_) {
      held->second.concluded = true;
      say(held->second);
    } else {
      holds_.erase(held);
    }
    check_stopped();
  }));
}

void Runtime::check_stopped() {
  if (stopped_ && session_ == 0 && holds_.empty()) std::exchange(stopped_, nullptr)();
}

void Runtime::started(const Hold& hold) {
  report(hold, [this, epoch = hold.epoch](const Held& held) {
    v1::Record record;
    record.mutable_started()->set_key(held.key);
    record.mutable_started()->set_epoch(epoch);
    if (held.ticket != 0) {
      record.mutable_started()->set_ticket(held.ticket);
      record.mutable_started()->set_session(held.session);
    }
    appender_.offer(record);
  });
}

void Runtime::finished(const Hold& hold, Bytes result) {
  conclude(hold, [this, epoch = hold.epoch, result = std::move(result)](const Held& held) {
    v1::Record record;
    record.mutable_done()->set_key(held.key);
    record.mutable_done()->set_epoch(epoch);
    record.mutable_done()->set_result(result.substr(0, kResultBytesMax));
    if (held.ticket != 0) {
      record.mutable_done()->set_ticket(held.ticket);
      record.mutable_done()->set_session(held.session);
    }
    appender_.offer(record);
  });
}

void Runtime::failed(const Hold& hold, Next next, Bytes error, Nanos delay) {
  conclude(hold, [this, epoch = hold.epoch, next, error = std::move(error), delay](const Held& held) {
    v1::Record record;
    record.mutable_failed()->set_key(held.key);
    record.mutable_failed()->set_epoch(epoch);
    record.mutable_failed()->set_next(static_cast<v1::Failed::Next>(next));
    record.mutable_failed()->set_error(error.substr(0, kErrorBytesMax));
    record.mutable_failed()->set_delay_ms(static_cast<std::uint64_t>(std::max<std::int64_t>(to_ms(delay), 0)));
    appender_.offer(record);
  });
}

void Runtime::released(const Hold& hold) {
  conclude(hold, [this, epoch = hold.epoch](const Held& held) {
    v1::Record record;
    record.mutable_released()->set_key(held.key);
    record.mutable_released()->set_epoch(epoch);
    appender_.offer(record);
  });
}

void Runtime::released(const Hold& hold, Bytes blob) {
  // A blob over the bound would make the machine refuse the release, and the key would be stuck here.
  if (blob.size() > kBlobBytesMax) return released(hold);
  conclude(hold, [this, epoch = hold.epoch, blob = std::move(blob)](const Held& held) {
    v1::Record record;
    record.mutable_released()->set_key(held.key);
    record.mutable_released()->set_epoch(epoch);
    record.mutable_released()->set_has_blob(true);
    record.mutable_released()->set_blob(blob);
    appender_.offer(record);
  });
}

void Runtime::checkpoint(const Hold& hold, Bytes data) {
  report(hold, [this, epoch = hold.epoch, data = std::move(data)](const Held& held) {
    v1::Record record;
    record.mutable_checkpoint()->set_key(held.key);
    record.mutable_checkpoint()->set_epoch(epoch);
    record.mutable_checkpoint()->set_data(data);
    appender_.offer(record);
  });
}

void Runtime::handled(const Hold& hold, std::uint64_t message_number) {
  report(hold, [this, epoch = hold.epoch, message_number](const Held& held) {
    v1::Record record;
    record.mutable_notified()->set_key(held.key);
    record.mutable_notified()->set_epoch(epoch);
    record.mutable_notified()->set_number(message_number);
    appender_.offer(record);
  });
}

}  // namespace tenure
