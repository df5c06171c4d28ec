// What the node and the heart ask of the host, and the thread that does it. The programs' side is in
// program_host_io.cc.

#include "exec/program_host.h"

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

Result<std::unique_ptr<ProgramHost>> ProgramHost::create(Guard& guard, ProgramOptions options) {
  if (options.command.empty()) return fail(Errc::invalid, "run programs", "no command was given");
  auto work = WorkFolder::create(options.work_parent);
  if (!work) return Failure(work.error());
  return std::unique_ptr<ProgramHost>(new ProgramHost(guard, std::move(options), std::move(*work)));
}

ProgramHost::ProgramHost(Guard& guard, ProgramOptions options, WorkFolder work)
    : guard_(guard),
      options_(std::move(options)),
      work_(std::move(work)),
      log_number_(options_.engine_url.empty() ? kNoLog : guard.add_log(options_.engine_url, options_.pool)),
      poll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  ASSERT(poll_ && wake_);
  guard_.remove_at_end(work_.path());
  watch(wake_.get(), kWakeTag, EPOLLIN);
  watch(guard_.socket(), kGuardTag, EPOLLIN);
  watch(guard_.life(), kLifeTag, EPOLLIN);
  if (checkpoints_.descriptor() >= 0) watch(checkpoints_.descriptor(), kCheckpointTag, EPOLLIN);
  thread_ = std::thread([this] { serve(); });
  pthread_setname_np(thread_.native_handle(), "tenure-programs");
}

ProgramHost::~ProgramHost() {
  post([this] {
    for (const auto& [number, program] : programs_) guard_.end_program(number);
    stopping_ = true;
  });
  thread_.join();
}

void ProgramHost::start(HeldJob job) {
  {
    const std::lock_guard lock(mutex_);
    ++live_[job.session];
  }
  post([this, job = std::move(job)] { begin(job); });
}

void ProgramHost::stop(const Hold& hold, StopReason /*reason*/, Instant deadline) {
  post([this, hold, deadline] {
    if (const auto number = numbers_.find(hold.epoch); number != numbers_.end()) {
      return stop_program(*programs_.at(number->second), deadline);
    }
    const auto waits = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const HeldJob& job) { return job.hold.epoch == hold.epoch; });
    if (waits == waiting_.end()) return;
    const HeldJob job = std::move(*waits);
    waiting_.erase(waits);
    settle(job.hold, job.session, {});
  });
}

void ProgramHost::message(const Hold& hold, std::uint64_t number, BytesView text) {
  post([this, hold, number, text = Bytes(text)] {
    const auto found = numbers_.find(hold.epoch);
    if (found == numbers_.end()) return;
    Program& program = *programs_.at(found->second);
    program.notify(number, text);
    write_on(program);
  });
}

void ProgramHost::give_back_waiting() {
  post([this] {
    for (const HeldJob& job : std::exchange(waiting_, {})) settle(job.hold, job.session, {});
  });
}

void ProgramHost::lease_until(std::uint64_t session, Instant until) {
  const Instant guarded = until - guard_margin(options_.lease);
  guard_.renew(session, guarded, log_number_);
  const std::lock_guard lock(mutex_);
  guarded_until_[session] = guarded;
}

void ProgramHost::lease_over(std::uint64_t session) {
  guard_.over(session);
  const std::lock_guard lock(mutex_);
  fenced_.erase(session);
  guarded_until_.erase(session);
}

void ProgramHost::fence(std::uint64_t session) {
  {
    const std::lock_guard lock(mutex_);
    fenced_.insert(session);
  }
  guard_.fence(session);
  post([this, session] { stop_session(session); });
}

void ProgramHost::kill(std::uint64_t session) {
  guard_.end_all(session);
  {
    std::unique_lock lock(mutex_);
    if (emptier_.wait_for(lock, kill_patience(options_.lease), [&] { return !live_.contains(session); })) return;
  }
  // Guard or host's thread do not do their part. Without the guard the keepers end what runs, and say so by ending.
  guard_.destroy();
  guard_.wait_gone(kGonePatience);
}

void ProgramHost::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

bool ProgramHost::is_fenced(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  return fenced_.contains(session);
}

bool ProgramHost::is_ending(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  const auto until = guarded_until_.find(session);
  return fenced_.contains(session) || (until != guarded_until_.end() && BootClock().now() >= until->second);
}

void ProgramHost::serve() {
  // A program that closes its standard input must not end the worker, and a signal to the process is not for us.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  while (!stopping_) turn();
}

void ProgramHost::turn() {
  std::array<epoll_event, 64> events{};
  const int count = epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), wait_ms());
  for (int i = 0; i < count; ++i) happened(events.at(static_cast<std::size_t>(i)).data.u64);
  check_patience();
}

void ProgramHost::happened(std::uint64_t tag) {
  if (tag == kWakeTag) return run_posted();
  if (tag == kGuardTag) return hear_guard();
  if (tag == kLifeTag) return all_gone();
  if (tag == kCheckpointTag) {
    for (const std::uint64_t number : checkpoints_.changed()) {
      if (const auto found = programs_.find(number); found != programs_.end()) take_checkpoint(*found->second);
    }
    return;
  }
  if (const auto found = programs_.find(program_of(tag)); found != programs_.end()) exchange(*found->second);
}

void ProgramHost::run_posted() {
  std::uint64_t ignored = 0;
  (void)!::read(wake_.get(), &ignored, sizeof ignored);
  std::deque<std::function<void()>> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (const auto& work : posted) work();
}

int ProgramHost::wait_ms() const {
  std::optional<Instant> first;
  for (const auto& [number, program] : programs_) {
    if (program->patience && (!first || *program->patience < *first)) first = program->patience;
  }
  if (!first) return -1;
  return static_cast<int>(std::max<std::int64_t>(to_ms(*first - BootClock().now()) + 1, 0));
}

void ProgramHost::watch(int descriptor, std::uint64_t tag, std::uint32_t events, bool change) const {
  epoll_event event{.events = events, .data = {.u64 = tag}};
  epoll_ctl(poll_.get(), change ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event);
}

}  // namespace tenure::exec
