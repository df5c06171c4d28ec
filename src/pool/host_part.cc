// One shard's side of a ThreadHost: the functions that its node calls.

#include <algorithm>
#include <utility>

#include "machine/own_names.h"
#include "pool/pool_guard.h"
#include "pool/thread_host.h"

namespace tenure {
namespace {

// At most this many jobs are passed on together. So the first jobs of a large entry run while the rest is applied.
constexpr std::size_t kPortion = 256;

}  // namespace

void HostPart::attach(HoldReports& reports, ThreadLoop& loop) {
  reports_ = &reports;
  loop_ = &loop;
  loop.run([&] {
    long_ = std::make_unique<Timer>(loop);
    overdue_ = std::make_unique<Timer>(loop);
  });
}

void HostPart::lease_until(std::uint64_t session, Instant until) {
  std::lock_guard lock(host_.guard_mutex_);
  host_.leases_[session] = until;
  if (host_.guard_ != nullptr) host_.guard_->lease_until(session, until);
}

void HostPart::lease_over(std::uint64_t session) {
  std::lock_guard lock(host_.guard_mutex_);
  host_.leases_.erase(session);
  if (host_.guard_ != nullptr) host_.guard_->lease_over(session);
}

void HostPart::detach() {
  if (loop_ == nullptr) return;
  loop_->run([this] {
    long_.reset();
    overdue_.reset();
  });
}

void HostPart::start(HeldJob job) {
  started_.push_back(std::make_shared<LiveJob>(std::move(job), *reports_, host_.door_));
  if (started_.size() >= kPortion) return hand_over();
  if (std::exchange(turn_posted_, true)) return;
  loop_->post([this] {
    turn_posted_ = false;
    hand_over();
  });
}

// All jobs of a portion take one lock and one wake-up. Busy threads come by themselves.
void HostPart::hand_over() {
  if (started_.empty()) return;
  std::vector<Hold> given_back;
  std::vector<LiveJobPtr> jobs;
  jobs.reserve(started_.size());
  std::shared_ptr<Handler> handler;
  const Bytes* worker = nullptr;  // the worker of the last handler found
  for (LiveJobPtr& job : started_) {
    const HeldJob& held = job->held;
    if (worker == nullptr || held.worker != *worker) handler = host_.handler_of(held.worker);
    worker = handler ? &held.worker : nullptr;
    if (!handler) {
      given_back.push_back(held.hold);
      continue;
    }
    job->handler = handler;
    jobs.push_back(std::move(job));
  }
  started_.clear();
  std::vector<LiveJobPtr> spent;  // freed without the lock
  {
    std::lock_guard lock(host_.mutex_);
    spent.swap(host_.spent_);
    for (LiveJobPtr& job : jobs) {
      if (host_.fenced_.contains(job->held.session)) {
        given_back.push_back(job->held.hold);
        continue;
      }
      job->queued = true;
      host_.live_[job->held.hold.epoch] = job;
      host_.queue_.push_back(std::move(job));
    }
    if (!host_.invite() || host_.queue_.size() > 1) host_.wake();
  }
  for (const Hold& hold : given_back) reports_->released(hold);
  if (long_ && !long_->armed()) long_->arm(loop_->now() + kStartedAfter, [this] { tell_long_tasks(); });
}

void HostPart::stop(const Hold& hold, StopReason reason, Instant deadline) {
  hand_over();
  LiveJobPtr job;
  bool begun = true;
  {
    std::lock_guard lock(host_.mutex_);
    const LiveJobPtr* found = host_.live_.find(hold.epoch);
    if (found == nullptr) return;
    job = *found;
    job->request_stop(reason);
    begun = job->phase != LiveJob::Phase::waiting;
    if (!begun) {
      host_.give_back(*job);
    } else if (job->held.kind == JobKind::resident) {
      job->stop_due = true;
      host_.enqueue(job);
    }
  }
  if (!begun) return reports_->released(hold);
  host_.trip_later(job);
  watch_stop(hold.epoch, deadline);
}

void HostPart::watch_stop(std::uint64_t epoch, Instant deadline) {
  if (!overdue_) return;
  stops_due_.push({deadline.since_boot.count(), epoch});
  const Instant next{Nanos(stops_due_.top().at)};
  if (!overdue_->armed() || next < overdue_->when()) overdue_->arm(next, [this] { look_for_overdue_stops(); });
}

// The lease goes on, so nobody else gets the key. What becomes of the process is the user's choice.
void HostPart::look_for_overdue_stops() {
  std::vector<Bytes> keys;
  {
    std::lock_guard lock(host_.mutex_);
    while (!stops_due_.empty() && stops_due_.top().at <= loop_->now().since_boot.count()) {
      const LiveJobPtr* found = host_.live_.find(stops_due_.top().epoch);
      if (found != nullptr) keys.push_back((*found)->held.hold.key);
      stops_due_.pop();
    }
  }
  for (const Bytes& key : keys) {
    const std::string why = "the handler of '" + key + "' has not stopped within worker_shutdown_ttl";
    if (host_.options_.on_stop_overdue == OnStopOverdue::end_process) host_.end_process(why);
    host_.log(LogLevel::error, why + "; the key stays with this worker until it has");
  }
  if (stops_due_.empty()) return;
  overdue_->arm(Instant{Nanos(stops_due_.top().at)}, [this] { look_for_overdue_stops(); });
}

void HostPart::message(const Hold& hold, std::uint64_t number, BytesView text) {
  hand_over();
  std::lock_guard lock(host_.mutex_);
  const LiveJobPtr* found = host_.live_.find(hold.epoch);
  if (found == nullptr) return;
  (*found)->messages.push_back({number, Bytes(text)});
  host_.enqueue(*found);
}

void HostPart::give_back_waiting(std::uint64_t session) {
  hand_over();
  std::vector<LiveJobPtr> waiting;
  {
    std::lock_guard lock(host_.mutex_);
    host_.live_.each([&](std::uint64_t, const LiveJobPtr& job) {
      if (job->held.session != session || job->phase != LiveJob::Phase::waiting) return;
      if (job->held.kind == JobKind::task) waiting.push_back(job);
    });
    for (const LiveJobPtr& job : waiting) host_.give_back(*job);
  }
  for (const LiveJobPtr& job : waiting) reports_->released(job->held.hold);
}

// Jobs that were not passed on yet are given back when they are.
void HostPart::fence(std::uint64_t session) {
  std::vector<LiveJobPtr> tripped;
  std::vector<LiveJobPtr> given_back;
  {
    std::lock_guard lock(host_.mutex_);
    if (!host_.fenced_.insert(session).second) return;
    host_.live_.each([&](std::uint64_t, const LiveJobPtr& job) {
      if (job->held.session != session) return;
      job->request_stop(std::nullopt);
      (job->phase == LiveJob::Phase::waiting ? given_back : tripped).push_back(job);
    });
    for (const LiveJobPtr& job : given_back) host_.give_back(*job);
    for (const LiveJobPtr& job : tripped) {
      if (job->held.kind != JobKind::resident) continue;
      job->stop_due = true;
      host_.enqueue(job);
    }
  }
  for (const LiveJobPtr& job : given_back) reports_->released(job->held.hold);
  for (const LiveJobPtr& job : tripped) host_.trip_later(job);
}

// The library's own residents are left alone: all that they do outside the process is to emit, and the log refuses what
// an older tenure emits. A process that was frozen would otherwise end because of each source that it reads.
void HostPart::kill(std::uint64_t session) {
  std::string key;
  {
    std::lock_guard lock(host_.mutex_);
    const LiveJob* alive = nullptr;
    host_.live_.each([&](std::uint64_t, const LiveJobPtr& job) {
      if (job->held.session == session && !is_own_key(job->held.hold.key)) alive = job.get();
    });
    if (alive == nullptr) return;
    key = alive->held.hold.key;
  }
  const std::string why = "the lease ran out and the handler of '" + key + "' had not stopped";
  if (host_.options_.on_lease_lost == OnLeaseLost::end_process) host_.end_process(why);
  host_.log(LogLevel::error, why + "; it continues, as the options say");
}

// Short tasks only report their end, because a record for each start would be a third of all records. A task that is
// found running in two looks in a row is reported as started.
void HostPart::tell_long_tasks() {
  std::vector<Hold> told;
  std::vector<const LiveJob*> running;
  bool busy = false;
  {
    std::lock_guard lock(host_.mutex_);
    for (const LiveJobPtr& job : host_.running_) {
      if (!job || &job->reports != reports_ || job->held.kind != JobKind::task) continue;
      busy = true;
      running.push_back(job.get());
      const bool seen = std::find(seen_running_.begin(), seen_running_.end(), job.get()) != seen_running_.end();
      if (seen && !std::exchange(job->started_told, true)) told.push_back(job->held.hold);
    }
    busy = busy || !host_.queue_.empty();
  }
  seen_running_ = std::move(running);
  for (const Hold& hold : told) reports_->started(hold);
  if (busy) long_->arm(loop_->now() + kStartedAfter, [this] { tell_long_tasks(); });
}

}  // namespace tenure
