#include "process/child_processes.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/assert.h"

namespace tenure::process {

using net::after;
using net::Time;

namespace {

using namespace std::chrono_literals;

// How long to wait for the reason of an end that was seen on the socket.
constexpr Nanos kFatePatience = 500ms;

std::vector<std::string> default_guard() {
  const char* named = std::getenv("TENURE_GUARD");
  if (named == nullptr || *named == '\0') return {};
  return {named};
}

Failure no_start(std::string why) { return fail(Errc::unavailable, "start a worker process", std::move(why)); }

// The limits that are enforced here. The holder counts the calls, and the pool applies soft limits of time.
guard::WearLimits wear_limits(const ProcessLimits& limits) {
  guard::WearLimits wear;
  wear.memory_bytes = limits.memory_bytes;
  wear.memory_bytes_hard = limits.memory_bytes_hard;
  wear.job_time = limits.call_time;
  wear.age_hard = limits.age_hard;
  return wear;
}

}  // namespace

ChildProcesses& ChildProcesses::of_process() {
  static ChildProcesses* const children = new ChildProcesses;
  return *children;
}

void ChildProcesses::use_guard(std::vector<std::string> command) {
  ChildProcesses& children = of_process();
  const std::lock_guard lock(children.mutex_);
  children.guard_command_ = std::move(command);
}

void ChildProcesses::use_errors(Descriptor errors) {
  ChildProcesses& children = of_process();
  const std::lock_guard lock(children.mutex_);
  children.errors_ = std::move(errors);
}

ChildProcesses::ChildProcesses() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), guard_command_(default_guard()) {
  ASSERT(wake_);
  const std::lock_guard lock(mutex_);
  std::thread thread([this] { serve(); });
  pthread_setname_np(thread.native_handle(), "tenure-children");
  thread_ = thread.get_id();
  thread.detach();
}

void ChildProcesses::enter() {
  const std::lock_guard lock(mutex_);
  ++users_;
}

void ChildProcesses::leave() {
  const std::lock_guard lock(mutex_);
  if (--users_ == 0) wake();
}

void ChildProcesses::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

Status ChildProcesses::ready_guard(Lock& lock, Time deadline) {
  if (guard_ && !guard_lost_) return {};
  const std::uint64_t before = attempts_;
  guard_wanted_ = true;
  wake();
  const bool tried = changed_.wait_until(lock, deadline, [&] { return attempts_ != before; });
  if (!tried) return no_start("the guard is not ready");
  if (guard_error_) return no_start(guard_error_->message());
  return {};
}

Result<ChildPtr> ChildProcesses::start(const ProcessOptions& options, std::optional<WorkerAlarm> alarm, Time deadline) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return no_start(std::strerror(errno));
  Descriptor own(ends[0]);
  Descriptor theirs(ends[1]);

  Lock lock(mutex_);
  Descriptor errors(fcntl(errors_ ? errors_.get() : STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!errors) errors = Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (Status ready = ready_guard(lock, deadline); !ready) return Failure(std::move(ready).error());
  auto child = std::make_shared<Child>(++last_number_, wear_limits(options.limits), std::move(alarm), std::move(own));
  child->slot = guard_->leases().acquire(kSession);
  ASSERT(child->slot >= 0);
  const guard::ProgramStart program{child->number,  kSession,        child->slot,
                                    options.folder, options.command, options.environment};
  const int error_number = guard_->start_program(program, {theirs.get(), theirs.get(), errors.get()});
  theirs.close();
  if (error_number != 0) {
    guard_->leases().release(child->slot);
    return no_start(error_number == EMSGSIZE
                        ? "command and environment are too long"
                        : guard::describe_refusal(options.command[0], "", error_number, guard::StartStep::fork));
  }
  children_[child->number] = child;
  const auto settled = [&] { return child->phase != Child::Phase::starting; };
  if (!changed_.wait_until(lock, deadline, settled)) {
    guard_->end_program(child->number);
    return fail(Errc::timed_out, "start a worker process", "it did not run in time");
  }
  if (child->phase == Child::Phase::running) {
    wake();  // its limits must be watched
    return child;
  }
  if (child->phase == Child::Phase::ended) return no_start("the program " + child->why);
  return no_start(
      guard::describe_refusal(options.command[0], options.folder, child->refusal.error_number, child->refusal.step));
}

void ChildProcesses::stop(Child& child, Nanos patience) {
  ::shutdown(child.socket.get(), SHUT_WR);
  const std::lock_guard lock(mutex_);
  child.told = true;  // the caller that stops it knows
  if (!guard_ || guard_lost_ || !children_.contains(child.number)) return;
  guard_->stop_program(child.number, BootClock().now() + patience);
}

void ChildProcesses::kill(const ChildPtr& child, std::string_view reason) {
  News news;
  {
    const std::lock_guard lock(mutex_);
    end_now(child, std::string(reason), news);
  }
  tell(news);
}

bool ChildProcesses::wait_ended(const Child& child, Time deadline) {
  Lock lock(mutex_);
  const auto gone = [&] { return !children_.contains(child.number); };
  if (std::this_thread::get_id() == thread_) return gone();
  return changed_.wait_until(lock, deadline, gone);
}

std::string ChildProcesses::fate(const Child& child) {
  wait_ended(child, after(kFatePatience));
  const std::lock_guard lock(mutex_);
  return child.why.empty() ? "closed its connection" : child.why;
}

bool ChildProcesses::runs(const Child& child) {
  const std::lock_guard lock(mutex_);
  return child.phase == Child::Phase::running && child.why.empty();
}

pid_t ChildProcesses::process(const Child& child) {
  const std::lock_guard lock(mutex_);
  return child.process;
}

void ChildProcesses::tell(const News& news) {
  for (const auto& [alarm, why] : news.dead) alarm.died(why);
  for (const auto& [alarm, why] : news.worn_out) alarm.retire(why);
}

}  // namespace tenure::process
