// Tasks on their way through warm programs, on the host's thread.

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "exec/host_tags.h"
#include "exec/warm_host.h"

namespace tenure::exec {
namespace {

using namespace std::chrono_literals;

// How long a program that broke the protocol may take to exit.
constexpr Nanos kBrokenPatience = 1s;
// A pipe holds at most this many reads.
constexpr int kWarmDrainsMax = 64;

}  // namespace

void WarmHost::begin(HeldJob job) {
  if (job.kind != JobKind::task) {
    return settle(job.hold, job.session,
                  failed("this worker has warm programs (--warm), which run tasks only", HoldReports::Next::bury));
  }
  if (sessions_.is_fenced(job.session)) return settle(job.hold, job.session, {});
  end_left_behind(job.kind);
  // In order of arrival. Tasks of another session, that is, another shard, do not count.
  const bool waits =
      std::any_of(waiting_.begin(), waiting_.end(), [&](const HeldJob& other) { return other.session == job.session; });
  if (waits || !place(job)) waiting_.push_back(std::move(job));
}

bool WarmHost::place(const HeldJob& job) {
  const auto fit = [&](const WarmProgram* program) { return program->session == job.session; };
  const auto found = std::find_if(free_.rbegin(), free_.rend(), fit);
  if (found == free_.rend()) {
    if (programs_.size() >= programs_max_) {
      make_room(job.session);
      return false;
    }
    launch(job);
    return true;
  }
  WarmProgram& program = **found;
  free_.erase(std::next(found).base());
  program.give(job, BootClock().now());
  numbers_[job.hold.epoch] = program.number;
  write_on(program);
  return true;
}

// A free program makes room if its session is over, or has more than its share of programs: each shard has a session,
// and a program serves only one.
void WarmHost::make_room(std::uint64_t session) {
  std::map<std::uint64_t, std::size_t> programs;
  for (const auto& [number, program] : programs_) programs[program->session] += program->ending ? 0 : 1;
  const auto spare = std::find_if(free_.begin(), free_.end(), [&](const WarmProgram* program) {
    return sessions_.is_ending(program->session) || programs[program->session] > programs[session] + 1;
  });
  if (spare == free_.end()) return;
  (*spare)->ending = true;
  guard_.end_program((*spare)->number);
  free_.erase(spare);
}

// Starts a program for a task. If that fails, the task fails.
void WarmHost::launch(const HeldJob& job) {
  if (!guard_ready()) {
    return settle(job.hold, job.session, failed("the guard cannot be started"));
  }
  const int slot = guard_.leases().acquire(job.session);
  if (slot < 0) return settle(job.hold, job.session, {});  // its lease is over
  auto made = std::make_unique<WarmProgram>(++last_number_, job.session, slot, limits_.drawn(entropy_));
  auto pipes = made->pipes.open();
  if (!pipes) {
    guard_.leases().release(slot);
    return settle(job.hold, job.session, failed(pipes.error().message()));
  }
  WarmProgram& program = *made;
  programs_[program.number] = std::move(made);
  sessions_.begin(program.session);
  program.give(job, BootClock().now());
  numbers_[job.hold.epoch] = program.number;
  const guard::ProgramStart start{
      program.number,
      job.session,
      slot,
      options_.folder,
      options_.command,
      {"TENURE_POOL=" + options_.pool, "TENURE_WORKER=" + job.worker, "TENURE_KIND=task", "TENURE_WARM=1"}};
  const int error_number = guard_.start_program(start, {(*pipes)[0].get(), (*pipes)[1].get(), (*pipes)[2].get()});
  pipes->clear();
  if (error_number == EPIPE || error_number == ECONNRESET) return;  // all_gone() concludes it
  if (error_number != 0) {
    return post([this, number = program.number, error_number] {
      if (const auto found = programs_.find(number); found != programs_.end()) {
        refused(*found->second, error_number, guard::StartStep::fork);
      }
    });
  }
  poller_.watch_outputs(program.number, program.pipes);
  write_on(program);
}

void WarmHost::serve_waiting() {
  std::set<std::uint64_t> stuck;  // sessions whose next task has to wait
  std::deque<HeldJob> left;
  while (!waiting_.empty() && may_place(stuck)) {
    HeldJob job = std::move(waiting_.front());
    waiting_.pop_front();
    if (sessions_.is_fenced(job.session)) {
      settle(job.hold, job.session, {});
    } else if (stuck.contains(job.session) || !place(job)) {
      stuck.insert(job.session);
      left.push_back(std::move(job));
    }
  }
  for (; !left.empty(); left.pop_back()) waiting_.push_front(std::move(left.back()));
}

bool WarmHost::may_place(const std::set<std::uint64_t>& stuck) const {
  if (stuck.empty()) return true;
  return std::any_of(free_.begin(), free_.end(),
                     [&](const WarmProgram* program) { return !stuck.contains(program->session); });
}

void WarmHost::exchange(WarmProgram& program, std::uint64_t tag) {
  for (const Pipes::Stream stream : {Pipes::output, Pipes::errors}) {
    if (tag == tag_of(program.number, stream)) program.read(stream);
  }
  tell(program);
  write_on(program);
}

void WarmHost::write_on(WarmProgram& program) {
  program.pipes.write();
  poller_.watch_input(program.number, program.pipes);
}

void WarmHost::tell(WarmProgram& program) {
  const Hold hold = program.job() ? program.job()->hold : Hold{};
  const std::deque<Bytes> said = program.said();
  for (std::size_t i = 0; i < std::min(said.size(), kLogLinesMax); ++i) log(hold, said[i]);
  log_left_out(hold, said.size());
  for (Bytes& checkpoint : std::exchange(program.checkpoints, {})) {
    if (program.job()) reports_->checkpoint(hold, std::move(checkpoint));
  }
  std::optional<Verdict> answer = program.answer();
  const bool answered = answer.has_value();
  if (answered && program.job()) {
    conclude(program, *std::move(answer));
    if (!program.ending && stays(program, program.worn.free_since.value_or(Instant{}))) free_.push_back(&program);
  }
  if (program.ending) std::erase(free_, &program);
  const bool silent = std::exchange(program.silent, false);
  if (std::exchange(program.broken, false) || silent)
    guard_.stop_program(program.number, BootClock().now() + kBrokenPatience);
  if (answered && !waiting_.empty()) guard_lost_ ? post([this] { serve_waiting(); }) : serve_waiting();
}

void WarmHost::tell_started() {
  for (const auto& [epoch, number] : numbers_) {
    WarmProgram& program = *programs_.at(number);
    if (program.starting || !program.job() || program.started_told) continue;
    if (!std::exchange(program.seen_running, true)) continue;
    program.started_told = true;
    reports_->started(program.job()->hold);
  }
}

void WarmHost::stop_one(WarmProgram& program, Instant deadline) {
  program.cause = Cause::stop;
  program.ending = true;
  const Instant now = BootClock().now();
  program.ask_stop(deadline - now);
  write_on(program);
  if (deadline > now) {
    guard_.stop_program(program.number, deadline);
  } else {
    guard_.end_program(program.number);
  }
}

void WarmHost::ended(WarmProgram& program, int status, bool guard_killed) {
  for (int i = 0; i < kWarmDrainsMax && program.read(Pipes::output); ++i) {
  }
  for (int i = 0; i < kWarmDrainsMax && program.read(Pipes::errors); ++i) {
  }
  program.ending = true;
  tell(program);
  // Heart and guard end programs without this thread, which may learn of the program's end first.
  if (program.cause == Cause::itself && sessions_.is_ending(program.session)) program.cause = Cause::stop;
  if (program.job()) {
    const Verdict verdict = program.verdict_at_end(status);
    conclude(program, guard_killed ? guard_killer(verdict, program.cause) : verdict);
  }
  forget(program);
}

void WarmHost::refused(WarmProgram& program, int error_number, guard::StartStep step) {
  if (program.job()) {
    conclude(program, step == guard::StartStep::lease ? Verdict{} : failed(why_refused(error_number, step)));
  }
  forget(program);
}

void WarmHost::forget(WarmProgram& program) {
  std::erase(free_, &program);
  guard_.leases().release(program.slot);
  const std::uint64_t session = program.session;
  programs_.erase(program.number);
  sessions_.end(session);
  if (!waiting_.empty()) post([this] { serve_waiting(); });
}

void WarmHost::conclude(WarmProgram& program, Verdict verdict) {
  const Instant now = BootClock().now();
  HeldJob job = program.take_job(now);
  numbers_.erase(job.hold.epoch);
  ends_.add(std::move(job), std::move(verdict), now);
}

void WarmHost::tell_ends() {
  if (ends_.empty()) return;
  reports_->together([this] {
    for (const WarmEnds::End& end : ends_.take()) settle(end.job.hold, end.job.session, end.verdict);
  });
}

}  // namespace tenure::exec
