#include "node/keys/keys_part.h"

#include <utility>

namespace tenure {

KeysPart::KeysPart(Loop& loop, Host& host, Appender& appender, const ReplicaOf<Machine>& replica, NodeEvents& events,
                   Options options)
    : loop_(loop),
      replica_(replica),
      workers_(loop, appender, events, options.retry_worker_after),
      runtime_(
          loop, host, appender, [this] { return stop_patience(); }, options.look_every),
      close_deadline_(loop),
      leave_deadline_(loop) {}

void KeysPart::listen_to(EffectsTee& tee) {
  tee.add_keys(runtime_);
  tee.add_keys(workers_);
  tee.add_pool(workers_);
}

Nanos KeysPart::stop_patience() const {
  return std::chrono::milliseconds(replica_.machine().config().worker_shutdown_ttl_ms);
}

void KeysPart::begin(std::uint64_t session, std::function<std::int64_t()> lease_until) {
  session_ = session;
  runtime_.begin(session, std::move(lease_until));
  workers_.begin(session, replica_.machine().version(), replica_.machine().config().ring);
}

void KeysPart::fence(std::function<void()> stopped) {
  session_ = 0;
  workers_.end();
  runtime_.fence(std::move(stopped));
}

void KeysPart::leave() {
  runtime_.fence([] {});
}

void KeysPart::end() {
  session_ = 0;
  workers_.end();
  close_deadline_.cancel();
}

void KeysPart::remove(BytesView worker) {
  workers_.remove(worker);
  leaving_.emplace_back(loop_.now() + stop_patience(), worker);
  if (!leave_deadline_.armed()) leave_deadline_.arm(leaving_.front().first, [this] { stop_jobs_of_leaving(); });
}

void KeysPart::stop_jobs_of_leaving() {
  while (!leaving_.empty() && leaving_.front().first <= loop_.now()) {
    const Bytes worker = std::move(leaving_.front().second);
    leaving_.pop_front();
    runtime_.stop_all(loop_.now(), [&](const Hold& hold) {
      const std::optional<JobInfo> job = replica_.machine().find(hold.key);
      return job && job->epoch == hold.epoch && job->worker == worker;
    });
  }
  if (!leaving_.empty()) leave_deadline_.arm(leaving_.front().first, [this] { stop_jobs_of_leaving(); });
}

void KeysPart::close() {
  closing_ = true;
  workers_.close();
}

bool KeysPart::hand_over() {
  if (closing_ && !std::exchange(drained_, true)) begin_closing();
  const bool running = runtime_.running() != 0;
  return !workers_.holding(replica_.machine()) && !running;
}

void KeysPart::begin_closing() {
  workers_.drain_all();
  runtime_.give_back_waiting(session_);
  close_deadline_.arm(loop_.now() + stop_patience(), [this] { runtime_.stop_all(loop_.now()); });
}

}  // namespace tenure
