// What the node and the heart ask of the host, its thread, and its dealings with the guard. The tasks are in
// warm_host_tasks.cc.

#include "exec/warm_host.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/assert.h"
#include "exec/host_margins.h"
#include "exec/host_tags.h"

namespace tenure::exec {
namespace {

using namespace std::chrono_literals;

// Short tasks are told done, and nothing else. One that is found running at two looks is told started.
constexpr Nanos kWarmLook = 50ms;

}  // namespace

Result<std::unique_ptr<WarmHost>> WarmHost::create(Guard& guard, ProgramOptions options, std::size_t programs) {
  if (options.command.empty()) return fail(Errc::invalid, "run programs", "no command was given");
  if (programs == 0) return fail(Errc::invalid, "run programs", "at least one program is needed");
  return std::unique_ptr<WarmHost>(new WarmHost(guard, std::move(options), programs));
}

WarmHost::WarmHost(Guard& guard, ProgramOptions options, std::size_t programs)
    : guard_(guard),
      options_(std::move(options)),
      programs_max_(programs),
      log_number_(options_.engine_url.empty() ? kNoLog : guard.add_log(options_.engine_url, options_.pool)),
      poll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  ASSERT(poll_ && wake_);
  watch(wake_.get(), kWakeTag, EPOLLIN);
  watch(guard_.socket(), kGuardTag, EPOLLIN);
  watch(guard_.life(), kLifeTag, EPOLLIN);
  thread_ = std::thread([this] { serve(); });
  pthread_setname_np(thread_.native_handle(), "tenure-warm");
}

WarmHost::~WarmHost() {
  post([this] {
    for (const auto& [number, program] : programs_) guard_.end_program(number);
    stopping_ = true;
  });
  thread_.join();
}

void WarmHost::start(HeldJob job) {
  count_live(job.session);
  post([this, job = std::move(job)]() mutable { begin(std::move(job)); });
}

void WarmHost::stop(const Hold& hold, StopReason /*reason*/, Instant deadline) {
  post([this, hold, deadline] {
    if (const auto number = numbers_.find(hold.epoch); number != numbers_.end()) {
      return stop_one(*programs_.at(number->second), deadline);
    }
    const auto waits = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const HeldJob& job) { return job.hold.epoch == hold.epoch; });
    if (waits == waiting_.end()) return;
    const HeldJob job = std::move(*waits);
    waiting_.erase(waits);
    settle(job.hold, job.session, {});
  });
}

// Messages are for residents, of which there are none here.
void WarmHost::message(const Hold& /*hold*/, std::uint64_t /*number*/, BytesView /*text*/) {}

void WarmHost::give_back_waiting() {
  post([this] {
    for (const HeldJob& job : std::exchange(waiting_, {})) settle(job.hold, job.session, {});
  });
}

void WarmHost::lease_until(std::uint64_t session, Instant until) {
  const Instant guarded = until - guard_margin(options_.lease);
  guard_.renew(session, guarded, log_number_);
  const std::lock_guard lock(mutex_);
  guarded_until_[session] = guarded;
}

void WarmHost::lease_over(std::uint64_t session) {
  guard_.over(session);
  {
    const std::lock_guard lock(mutex_);
    fenced_.erase(session);
    guarded_until_.erase(session);
  }
  post([this, session] { stop_session(session, true); });
}

void WarmHost::fence(std::uint64_t session) {
  {
    const std::lock_guard lock(mutex_);
    fenced_.insert(session);
  }
  guard_.fence(session);
  post([this, session] { stop_session(session, false); });
}

void WarmHost::kill(std::uint64_t session) {
  guard_.end_all(session);
  {
    std::unique_lock lock(mutex_);
    if (emptier_.wait_for(lock, kill_patience(options_.lease), [&] { return !live_.contains(session); })) return;
  }
  // Guard or host's thread do not do their part. Without the guard the keepers end what runs, and say so by ending.
  guard_.destroy();
  guard_.wait_gone(kGonePatience);
}

void WarmHost::post(std::function<void()> work) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(work));
  }
  const std::uint64_t one = 1;
  if (first) (void)!::write(wake_.get(), &one, sizeof one);
}

void WarmHost::count_live(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  ++live_[session];
}

void WarmHost::count_done(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  const auto live = live_.find(session);
  if (live == live_.end() || --live->second > 0) return;
  live_.erase(live);
  emptier_.notify_all();
}

bool WarmHost::is_fenced(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  return fenced_.contains(session);
}

bool WarmHost::is_ending(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  const auto until = guarded_until_.find(session);
  return fenced_.contains(session) || (until != guarded_until_.end() && BootClock().now() >= until->second);
}

void WarmHost::serve() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::array<epoll_event, 64> events{};
  while (!stopping_) {
    const int patience = numbers_.empty() ? -1 : static_cast<int>(to_ms(kWarmLook));
    const int count = epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), patience);
    for (int i = 0; i < count; ++i) happened(events.at(static_cast<std::size_t>(i)).data.u64);
    if (numbers_.empty()) continue;
    const Instant now = BootClock().now();
    if (now < next_look_) continue;
    next_look_ = now + kWarmLook;
    tell_started();
  }
}

void WarmHost::happened(std::uint64_t tag) {
  if (tag == kWakeTag) return run_posted();
  if (tag == kGuardTag) return hear_guard();
  if (tag == kLifeTag) return all_gone();
  if (const auto found = programs_.find(program_of(tag)); found != programs_.end()) exchange(*found->second, tag);
}

void WarmHost::run_posted() {
  std::uint64_t ignored = 0;
  (void)!::read(wake_.get(), &ignored, sizeof ignored);
  std::deque<std::function<void()>> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (const auto& work : posted) work();
}

void WarmHost::hear_guard() {
  while (!guard_lost_) {
    const Received received = guard_.receive();
    if (received.what == Received::What::nothing) return;
    if (received.what != Received::What::frame) return lose_guard();
    obey(received.frame);
  }
}

void WarmHost::obey(const Frame& frame) {
  const auto found = programs_.find(frame.number);
  if (found == programs_.end()) return;
  WarmProgram& program = *found->second;
  if (frame.kind == FrameKind::started) program.starting = false;
  if (frame.kind == FrameKind::ended) return ended(program, static_cast<int>(frame.value));
  if (frame.kind != FrameKind::refused) return;
  refused(program, static_cast<int>(frame.value), static_cast<Stage>(frame.aside));
}

void WarmHost::lose_guard() {
  guard_lost_ = true;
  epoll_ctl(poll_.get(), EPOLL_CTL_DEL, guard_.socket(), nullptr);
  guard_.destroy();  // it may live and talk nonsense
  if (options_.guard_lost) options_.guard_lost();
}

// Guard and keepers are gone: nothing of any program is left.
void WarmHost::all_gone() {
  hear_guard();
  if (!guard_lost_) lose_guard();
  epoll_ctl(poll_.get(), EPOLL_CTL_DEL, guard_.life(), nullptr);
  while (!programs_.empty()) {
    WarmProgram& program = *programs_.begin()->second;
    program.cause = Cause::stop;
    ended(program, SIGKILL);
  }
}

// Starts another guard where the last one is gone.
bool WarmHost::guard_ready() {
  if (!guard_lost_) return true;
  if (!guard_.wait_gone(0ns)) return false;
  if (const Status begun = guard_.begin(); !begun) {
    log({}, begun.error().message());
    return false;
  }
  guard_lost_ = false;
  watch(guard_.socket(), kGuardTag, EPOLLIN);
  watch(guard_.life(), kLifeTag, EPOLLIN);
  return true;
}

void WarmHost::watch(int descriptor, std::uint64_t tag, std::uint32_t events, bool change) const {
  epoll_event event{.events = events, .data = {.u64 = tag}};
  epoll_ctl(poll_.get(), change ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event);
}

}  // namespace tenure::exec
