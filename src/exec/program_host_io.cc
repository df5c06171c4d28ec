// The host's communication with its programs and with the guard, on the host's thread.

#include <cerrno>

#include "exec/program_host.h"

namespace tenure::exec {
namespace {

using namespace std::chrono_literals;

// How long a program that has sent `result` or `fail` may take to exit, and then again after a SIGTERM.
constexpr Nanos kFarewell = 5s;
// The time in a stop line of a fenced session: a part of the lease is left.
Nanos fence_grace(Nanos lease) { return lease / 20; }
// How long an emit may take before the program hears that it is not known what became of it.
constexpr Nanos kEmitPatience = 30s;
// The limit on starts that the guard has not answered. With more, a stop would wait behind them in the socket.
constexpr std::size_t kStartingMax = 16;
// A pipe holds at most this many reads.
constexpr int kDrainsMax = 64;

bool has_zero(BytesView bytes) { return bytes.find('\0') != BytesView::npos; }

}  // namespace

void ProgramHost::begin(HeldJob job) {
  if (sessions_.is_fenced(job.session)) return settle(job.hold, job.session, {});
  if (!may_launch(job)) return waiting_.push_back(std::move(job));
  launch(job);
}

bool ProgramHost::may_launch(const HeldJob& job) const {
  return starting_ < kStartingMax && (job.kind != JobKind::task || tasks_ < options_.tasks_max);
}

void ProgramHost::launch(const HeldJob& job) {
  if (has_zero(job.hold.key) || has_zero(job.worker)) {
    return settle(job.hold, job.session,
                  failed("a program cannot have a key or a worker's name with a zero byte", HoldReports::Next::bury));
  }
  if (!guard_ready()) return settle(job.hold, job.session, not_begun(job.kind, "the guard cannot be started"));
  end_left_behind(job.kind);
  const int slot = guard_.leases().acquire(job.session);
  if (slot < 0) return settle(job.hold, job.session, {});  // its lease is over
  std::vector<Descriptor> theirs;
  auto prepared = prepare(job, slot, theirs);
  if (!prepared) {
    guard_.leases().release(slot);
    return settle(job.hold, job.session, not_begun(job.kind, prepared.error().message()));
  }
  Program& program = **prepared;
  programs_[program.number] = std::move(*prepared);
  numbers_[job.hold.epoch] = program.number;
  if (job.kind == JobKind::task) ++tasks_;
  ++starting_;
  checkpoints_.add(program.number, program.folder.path());

  const guard::ProgramStart start{program.number,  job.session,      slot,
                                  options_.folder, options_.command, environment_of(job, program.folder.path())};
  const int error_number = guard_.start_program(start, {theirs[0].get(), theirs[1].get(), theirs[2].get()});
  theirs.clear();
  if (error_number == EPIPE || error_number == ECONNRESET) return;  // all_gone() concludes it
  if (error_number != 0) return refused(program, error_number, guard::StartStep::fork);
  poller_.watch_outputs(program.number, program.pipes);
  write_on(program);
}

Result<std::unique_ptr<Program>> ProgramHost::prepare(const HeldJob& job, int slot, std::vector<Descriptor>& theirs) {
  const std::uint64_t number = ++last_number_;
  auto folder = JobFolder::create(work_.path(), number, job);
  if (!folder) return Failure(folder.error());
  auto program = std::make_unique<Program>(number, job, options_.protocol, std::move(*folder), slot);
  auto pipes = program->pipes.open(program->input_file());
  if (!pipes) {
    remover_.remove(program->folder.path());
    return Failure(pipes.error());
  }
  theirs = std::move(*pipes);
  return program;
}

std::vector<std::string> ProgramHost::environment_of(const HeldJob& job, const std::string& folder) const {
  return {
      "TENURE_POOL=" + options_.pool,
      "TENURE_KEY=" + job.hold.key,
      "TENURE_EPOCH=" + std::to_string(job.hold.epoch),
      "TENURE_WORKER=" + job.worker,
      "TENURE_ATTEMPT=" + std::to_string(job.attempt),
      std::string("TENURE_KIND=") + (job.kind == JobKind::task ? "task" : "resident"),
      "TENURE_TYPE=" + job.type,
      "TENURE_DIR=" + folder,
  };
}

// In order, but a task that waits for other tasks does not delay the jobs behind it.
void ProgramHost::launch_waiting() {
  std::deque<HeldJob> left;
  for (HeldJob& job : std::exchange(waiting_, {})) {
    if (may_launch(job)) {
      begin(std::move(job));
    } else {
      left.push_back(std::move(job));
    }
  }
  waiting_ = std::move(left);
}

void ProgramHost::stop_program(Program& program, Instant deadline) {
  const Nanos left = deadline - BootClock().now();
  if (program.cause == Cause::itself) {
    program.cause = Cause::stop;
    program.ask_stop(left);
    write_on(program);
  }
  if (left > 0ns) {
    guard_.stop_program(program.number, deadline);
  } else {
    guard_.end_program(program.number);
  }
}

void ProgramHost::session_fenced(std::uint64_t session) {
  for (const auto& [number, program] : programs_) {
    if (program->job.session != session || program->cause == Cause::stop) continue;
    program->cause = Cause::stop;
    program->ask_stop(fence_grace(options_.lease));
    write_on(*program);
  }
}

void ProgramHost::turn_over() {
  const Instant now = BootClock().now();
  for (const auto& [number, program] : programs_) {
    if (!program->patience || *program->patience > now) continue;
    program->patience.reset();
    if (program->cause == Cause::itself) program->cause = Cause::farewell;
    guard_.stop_program(number, now + kFarewell);
  }
}

void ProgramHost::obey(const guard::Message& message) {
  const auto found = programs_.find(message.number);
  if (found == programs_.end()) return;
  Program& program = *found->second;
  if (message.kind == guard::MessageKind::ended) {
    return ended(program, static_cast<int>(message.value), message.aside != 0);
  }
  if (message.kind == guard::MessageKind::refused) {
    return refused(program, static_cast<int>(message.value), static_cast<guard::StartStep>(message.aside));
  }
  if (message.kind != guard::MessageKind::started) return;
  start_settled(program);
  if (options_.protocol == Protocol::json) return;
  program.started = true;
  reports_->begun(program.job.hold);
}

void ProgramHost::start_settled(Program& program) {
  if (!std::exchange(program.starting, false)) return;
  --starting_;
  if (!waiting_.empty()) post([this] { launch_waiting(); });
}

void ProgramHost::exchange(Program& program) {
  std::deque<Said> said;
  program.read(Pipes::output, said);
  program.read(Pipes::errors, said);
  tell(program, said);
  write_on(program);
}

void ProgramHost::tell(Program& program, std::deque<Said>& said) {
  std::size_t logged = 0;
  for (Said& one : said) {
    if (one.what == Said::What::log && ++logged <= kLogLinesMax) log(program.job.hold, one.data);
    if (one.what == Said::What::checkpoint) reports_->checkpoint(program.job.hold, std::move(one.data));
    if (one.what == Said::What::emit) take_emission(program, std::move(*one.emission), false);
    if (one.what == Said::What::emitted) take_emission(program, std::move(*one.emission), true);
    if (one.what == Said::What::ready && !std::exchange(program.started, true)) reports_->started(program.job.hold);
  }
  log_left_out(program.job.hold, logged);
  if (program.dialogue.settled() && !program.patience && program.cause == Cause::itself) {
    program.patience = BootClock().now() + kFarewell;
    program.pipes.end_input();
  }
}

// The answer comes on another thread, or at once.
void ProgramHost::take_emission(Program& program, Emission emission, bool asks) {
  auto done = [this, number = program.number, source = emission.source](const Result<std::uint64_t>& outcome) {
    post([this, number, source, outcome] { tell_emitted(number, source, outcome); });
  };
  if (program.job.kind != JobKind::resident) return done(fail(Errc::invalid, "emit", "only residents emit"));
  if (!program.emitter && emitters_) program.emitter = emitters_(program.job.hold);
  if (!program.emitter) return done(fail(Errc::closed, "emit", "the pool was closed"));
  if (Status users = check_users_source(emission.source); !users) return done(Failure(users.error()));
  if (Status users = check_users_tasks(emission.tasks); !users) return done(Failure(users.error()));
  if (asks) return program.emitter->ask(emission.source, {}, kEmitPatience, done);
  program.emitter->emit(std::make_shared<const Emission>(std::move(emission)), kEmitPatience, done);
}

void ProgramHost::tell_emitted(std::uint64_t number, const Bytes& source, const Result<std::uint64_t>& outcome) {
  const auto found = programs_.find(number);
  if (found == programs_.end()) return;
  Program& program = *found->second;
  if (!program.tell_emitted(source, outcome)) {
    program.dialogue.break_off("the program does not read the answers to its emits");
    guard_.end_program(number);
  }
  write_on(program);
}

void ProgramHost::take_checkpoint(Program& program) {
  auto fresh = program.folder.new_checkpoint();
  if (!fresh) return log(program.job.hold, fresh.error().message());
  if (*fresh) reports_->checkpoint(program.job.hold, std::move(**fresh));
}

void ProgramHost::write_on(Program& program) {
  if (const auto handled = program.write()) reports_->handled(program.job.hold, *handled);
  poller_.watch_input(program.number, program.pipes);
}

void ProgramHost::ended(Program& program, int status, bool guard_killed) {
  std::deque<Said> said;
  for (int i = 0; i < kDrainsMax && program.read(Pipes::output, said); ++i) {
  }
  for (int i = 0; i < kDrainsMax && program.read(Pipes::errors, said); ++i) {
  }
  for (Said& one : program.dialogue.output_end()) said.push_back(std::move(one));
  tell(program, said);
  take_checkpoint(program);
  // Heart and guard end programs without this thread, which may learn of the program's end first.
  if (program.cause == Cause::itself && sessions_.is_ending(program.job.session)) program.cause = Cause::stop;
  const Verdict verdict = program.dialogue.verdict(status, program.cause);
  conclude(program, guard_killed ? guard_killer(verdict, program.cause) : verdict);
}

void ProgramHost::refused(Program& program, int error_number, guard::StartStep step) {
  if (step == guard::StartStep::lease) return conclude(program, {});
  conclude(program, not_begun(program.job.kind, why_refused(error_number, step)));
}

void ProgramHost::conclude(Program& program, const Verdict& verdict) {
  const auto found = programs_.find(program.number);
  const std::unique_ptr<Program> done = std::move(found->second);
  programs_.erase(found);
  numbers_.erase(done->job.hold.epoch);
  checkpoints_.remove(done->number);
  guard_.leases().release(done->slot);
  start_settled(*done);
  if (done->job.kind == JobKind::task) --tasks_;
  settle(done->job.hold, done->job.session, verdict);
  remover_.remove(done->folder.path());  // if it cannot, the guard does at the end
  if (!waiting_.empty()) post([this] { launch_waiting(); });
}

}  // namespace tenure::exec
