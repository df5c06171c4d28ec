#include "exec/guarded_host.h"

#include <pthread.h>
#include <sys/epoll.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "exec/host_margins.h"
#include "exec/host_tags.h"

namespace tenure::exec {

GuardedHost::GuardedHost(guard::Guard& guard, ProgramOptions options)
    : guard_(guard),
      options_(std::move(options)),
      log_number_(options_.engine_url.empty() ? guard::kNoLog : guard.add_log(options_.engine_url, options_.pool)) {
  poller_.watch(posted_.descriptor(), kWakeTag, EPOLLIN);
  watch_guard();
}

void GuardedHost::begin_serving(const char* thread_name) {
  thread_ = std::thread([this] { serve(); });
  pthread_setname_np(thread_.native_handle(), thread_name);
}

void GuardedHost::end_serving() {
  post([this] {
    end_programs();
    stopping_ = true;
  });
  thread_.join();
}

void GuardedHost::start(HeldJob job) {
  sessions_.begin(job.session);
  post([this, job = std::move(job)]() mutable { begin(std::move(job)); });
}

void GuardedHost::stop(const Hold& hold, StopReason /*reason*/, Instant deadline) {
  post([this, hold, deadline] {
    if (stop_running(hold, deadline)) return;
    const auto waits = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const HeldJob& job) { return job.hold.epoch == hold.epoch; });
    if (waits == waiting_.end()) return;
    const HeldJob job = std::move(*waits);
    waiting_.erase(waits);
    settle(job.hold, job.session, {});
  });
}

void GuardedHost::give_back_waiting(std::uint64_t session) {
  post([this, session] { drop_waiting(session); });
}

void GuardedHost::lease_until(std::uint64_t session, Instant until) {
  const Instant guarded = until - guard_margin(options_.lease);
  guard_.renew(session, guarded, log_number_);
  sessions_.lease_until(session, guarded);
}

void GuardedHost::lease_over(std::uint64_t session) {
  guard_.over(session);
  sessions_.lease_over(session);
  post([this, session] { session_over(session); });
}

void GuardedHost::fence(std::uint64_t session) {
  sessions_.fence(session);
  guard_.fence(session);
  post([this, session] {
    guard_.stop_all(session);  // it has usually received the fence from the heart already
    drop_waiting(session);
    session_fenced(session);
  });
}

void GuardedHost::kill(std::uint64_t session) {
  guard_.end_all(session);
  if (sessions_.wait_ended(session, kill_patience(options_.lease))) return;
  // The guard or the host's thread does not do its part. Without the guard, the keepers end the programs, and report
  // that by ending.
  guard_.destroy();
  guard_.wait_gone(kGonePatience);
}

void GuardedHost::serve() {
  // A program that closes its standard input must not end the worker. Signals to the process are for other threads.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  while (!stopping_) {
    for (const std::uint64_t tag : poller_.wait(wait_all_ms())) {
      if (tag == kWakeTag) {
        posted_.run();
      } else if (tag == kGuardTag) {
        hear_guard();
      } else if (tag == kLifeTag) {
        all_gone();
      } else {
        happened(tag);
      }
    }
    conclude_gone();
    turn_over();
  }
}

void GuardedHost::hear_guard() {
  while (!guard_lost_) {
    const guard::Received received = guard_.receive();
    if (received.what == guard::Received::What::nothing) return;
    if (received.what != guard::Received::What::message) return lose_guard();
    obey(received.message);
  }
}

void GuardedHost::lose_guard() {
  guard_lost_ = true;
  poller_.unwatch(guard_.socket());
  guard_.destroy();  // it may be alive and send nonsense
  guard_.wait_gone(Nanos(0));
  if (stopping_) return;
  const Instant now = BootClock().now();
  deaths_.died(now);
  guard_.shield_until(deaths_.shield_until());
  if (options_.guard_lost) options_.guard_lost();
}

// Guard and keepers are gone. The program that killed them may have left processes below this one. Until those are
// gone, too, nothing is reported, and the poller comes here again.
void GuardedHost::all_gone() {
  hear_guard();
  if (!guard_lost_) lose_guard();
  if (!guard_.wait_gone(kNetPatience)) return;
  poller_.unwatch(guard_.life());
  gone_due_ = deaths_.next_start();
}

// A guard that dies repeatedly is started with growing delays. Its programs are reported as ended only then.
void GuardedHost::conclude_gone() {
  if (!gone_due_ || BootClock().now() < *gone_due_) return;
  gone_due_.reset();
  programs_gone();
}

int GuardedHost::wait_all_ms() const {
  const int wait = wait_ms();
  if (!gone_due_) return wait;
  const auto left = static_cast<int>(std::max<std::int64_t>(to_ms(*gone_due_ - BootClock().now()) + 1, 0));
  return wait < 0 ? left : std::min(wait, left);
}

void GuardedHost::end_left_behind(JobKind kind) {
  const Instant now = BootClock().now();
  if (kind == JobKind::task && now < next_sweep_) return;
  guard_.end_left_behind();
  next_sweep_ = now + kSweepEvery;
}

bool GuardedHost::guard_ready() {
  if (!guard_lost_) return true;
  if (!guard_.wait_gone(Nanos(0))) return false;
  if (const Status begun = guard_.begin(); !begun) {
    log({}, begun.error().message());
    return false;
  }
  guard_lost_ = false;
  watch_guard();
  return true;
}

void GuardedHost::watch_guard() {
  poller_.watch(guard_.socket(), kGuardTag, EPOLLIN);
  poller_.watch(guard_.life(), kLifeTag, EPOLLIN);
}

void GuardedHost::drop_waiting(std::uint64_t session) {
  std::deque<HeldJob> others;
  for (HeldJob& job : std::exchange(waiting_, {})) {
    if (job.session == session) {
      settle(job.hold, session, {});
    } else {
      others.push_back(std::move(job));
    }
  }
  waiting_ = std::move(others);
}

void GuardedHost::settle(const Hold& hold, std::uint64_t session, const Verdict& verdict) {
  switch (verdict.what) {
    case Verdict::What::finished: reports_->finished(hold, verdict.result); break;
    case Verdict::What::failed: reports_->failed(hold, verdict.next, verdict.error, verdict.delay); break;
    case Verdict::What::released: reports_->released(hold); break;
  }
  sessions_.end(session);
}

Bytes GuardedHost::why_refused(int error_number, guard::StartStep step) const {
  return guard::describe_refusal(options_.command[0], options_.folder, error_number, step);
}

Verdict GuardedHost::guard_killer(const Verdict& otherwise, Cause cause) {
  deaths_.shield_died(BootClock().now());
  guard_.shield_until(deaths_.shield_until());
  if (cause == Cause::stop) return otherwise;
  return failed("the program killed its guard: its keeper was killed by SIGKILL");
}

Verdict GuardedHost::not_begun(JobKind kind, Bytes error) {
  const bool resident = kind == JobKind::resident;
  return failed(std::move(error), resident ? HoldReports::Next::drop : HoldReports::Next::retry);
}

Verdict GuardedHost::failed(Bytes error, HoldReports::Next next) {
  return {.what = Verdict::What::failed, .result = {}, .next = next, .error = std::move(error)};
}

void GuardedHost::log(const Hold& hold, BytesView line) const {
  if (options_.log) options_.log(hold, line);
}

void GuardedHost::log_left_out(const Hold& hold, std::size_t lines) const {
  if (lines > kLogLinesMax) log(hold, "(" + std::to_string(lines - kLogLinesMax) + " more lines at once)");
}

}  // namespace tenure::exec
