// The calls of the node, and the host's thread. The tasks are in warm_host_tasks.cc.

#include "exec/warm_host.h"

#include <algorithm>
#include <csignal>

#include "exec/host_tags.h"

namespace tenure::exec {
namespace {

using namespace std::chrono_literals;

// Short tasks only report their end. A task that is found running in two looks is reported as started.
constexpr Nanos kWarmLook = 50ms;
constexpr Nanos kForEver = Nanos::max();

}  // namespace

Result<std::unique_ptr<WarmHost>> WarmHost::create(guard::Guard& guard, ProgramOptions options, std::size_t programs,
                                                   const guard::WearLimits& limits) {
  if (options.command.empty()) return fail(Errc::invalid, "run programs", "no command was given");
  if (programs == 0) return fail(Errc::invalid, "run programs", "at least one program is needed");
  return std::unique_ptr<WarmHost>(new WarmHost(guard, std::move(options), programs, limits));
}

WarmHost::WarmHost(guard::Guard& guard, ProgramOptions options, std::size_t programs, const guard::WearLimits& limits)
    : GuardedHost(guard, std::move(options)), programs_max_(programs), limits_(limits) {
  begin_serving("tenure-warm");
}

WarmHost::~WarmHost() { end_serving(); }

bool WarmHost::stop_running(const Hold& hold, Instant deadline) {
  const auto number = numbers_.find(hold.epoch);
  if (number == numbers_.end()) return false;
  stop_one(*programs_.at(number->second), deadline);
  return true;
}

void WarmHost::session_fenced(std::uint64_t session) {
  tell_ends();
  dismiss(session);
}

void WarmHost::session_over(std::uint64_t session) {
  drop_waiting(session);
  dismiss(session);
  for (const auto& [number, program] : programs_) {
    if (program->session == session) guard_.end_program(number);
  }
}

// The session's programs get no more tasks.
void WarmHost::dismiss(std::uint64_t session) {
  for (const auto& [number, program] : programs_) {
    if (program->session != session) continue;
    program->cause = Cause::stop;
    program->ending = true;
    std::erase(free_, program.get());
  }
}

void WarmHost::obey(const guard::Message& message) {
  const auto found = programs_.find(message.number);
  if (found == programs_.end()) return;
  WarmProgram& program = *found->second;
  if (message.kind == guard::MessageKind::started) {
    program.runs(static_cast<pid_t>(message.value), BootClock().now());
    next_care_ = {};  // at the end of this turn
  }
  if (message.kind == guard::MessageKind::ended) {
    return ended(program, static_cast<int>(message.value), message.aside != 0);
  }
  if (message.kind != guard::MessageKind::refused) return;
  refused(program, static_cast<int>(message.value), static_cast<guard::StartStep>(message.aside));
}

void WarmHost::happened(std::uint64_t tag) {
  if (const auto found = programs_.find(program_of(tag)); found != programs_.end()) exchange(*found->second, tag);
}

int WarmHost::wait_ms() const {
  if (!ends_.empty()) return static_cast<int>(to_ms(kWarmEndWait));
  Nanos wait = numbers_.empty() ? kForEver : kWarmLook;
  if (limits_.any() && !programs_.empty()) wait = std::min(wait, next_care_ - BootClock().now());
  return wait == kForEver ? -1 : static_cast<int>(std::max<std::int64_t>(to_ms(wait) + 1, 0));
}

void WarmHost::turn_over() {
  const bool cares = limits_.any() && !programs_.empty();
  if (numbers_.empty() && ends_.empty() && !cares) return;
  const Instant now = BootClock().now();
  if (cares && now >= next_care_) care(now);
  if (ends_.ripe(waiting_.size(), now)) tell_ends();
  if (now < next_look_) return;
  next_look_ = now + kWarmLook;
  tell_started();
}

void WarmHost::end_programs() {
  tell_ends();
  for (const auto& [number, program] : programs_) guard_.end_program(number);
}

void WarmHost::programs_gone() {
  while (!programs_.empty()) {
    WarmProgram& program = *programs_.begin()->second;
    program.cause = Cause::stop;
    ended(program, SIGKILL, false);
  }
}

}  // namespace tenure::exec
