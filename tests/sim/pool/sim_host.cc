#include "sim/pool/sim_host.h"

#include "base/assert.h"
#include "sim/world/sim_clock.h"

namespace tenure::sim {

namespace {

constexpr std::size_t kThreads = 2;

}  // namespace

SimHost::SimHost(Parts parts, Dice dice, Dice emit_dice)
    : parts_(std::move(parts)),
      dice_(dice),
      surge_dice_(emit_dice),
      emit_dice_(emit_dice),
      emits_(Dice(emit_dice.next())) {
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads_.push_back(&parts_.process.add_loop(std::string("handler").append(std::to_string(i))));
  }
}

bool SimHost::is_past_lease() const { return parts_.process.clock().now().since_boot.count() >= parts_.lease_until(); }

void SimHost::later(Run& run, Time span, void (SimHost::*step)(Run&)) {
  run.thread->at(run.thread->now() + Nanos(span), [this, epoch = run.job.hold.epoch, step] {
    const auto found = runs_.find(epoch);
    if (found != runs_.end()) (this->*step)(found->second);
  });
}

void SimHost::start(HeldJob job) {
  const auto [at, added] = runs_.try_emplace(job.hold.epoch);
  ASSERT(added);
  Run& run = at->second;
  run.job = std::move(job);
  run.thread = threads_[dice_.below(threads_.size())];
  run.child = dice_.chance(parts_.work.child_process);
  run.deaf = dice_.chance(parts_.work.ignores_stop);
  later(run, 0, &SimHost::begin);
}

void SimHost::begin(Run& run) {
  // The last look at the clock before user code runs.
  if (run.stopping || is_past_lease()) return give_back(run);
  run.begun = true;
  const HeldJob& job = run.job;
  parts_.recorder.add(
      parts_.process,
      HoldBegan{parts_.process.number(), job.session, job.hold.key, job.hold.epoch,
                parts_.recorder.ticket_of(job.payload), job.checkpoint ? Recorder::number_in(*job.checkpoint) : 0,
                job.worker, is_partition(job.hold.key) ? static_cast<std::uint32_t>(std::stoul(job.payload)) : 0});
  // By the job, and not by the moment: a poisonous job is so wherever it runs.
  const bool poisonous =
      !is_partition(job.hold.key) && Dice(parts_.recorder.ticket_of(job.payload)).chance(parts_.work.poison);
  if (poisonous && dice_.chance(0.7)) {
    parts_.recorder.add(parts_.process, HandlerCrashed{parts_.process.number(), job.hold.key, job.hold.epoch});
    parts_.process.culprit = job.hold.epoch;
    return parts_.process.crash();
  }
  if (job.kind == JobKind::task) {
    parts_.reports->started(job.hold);
    later(run, dice_.between(0, parts_.work.task_max), &SimHost::run_task);
  } else {
    later(run, dice_.tailed(0, parts_.work.start_max), &SimHost::become_started);
  }
}

void SimHost::run_task(Run& run) {
  if (run.stopping) return;  // its end is on the way
  const Hold& hold = run.job.hold;
  if (dice_.chance(0.5)) {
    parts_.recorder.add(parts_.process,
                        Wrote{parts_.process.number(), hold.key, hold.epoch, parts_.store.write(hold.key, hold.epoch)});
  }
  end_hold(run);
  if (dice_.chance(parts_.work.puts_off)) {
    parts_.reports->failed(hold, HoldReports::Next::requeue, "not now", Nanos(dice_.between(kSecond, 60 * kSecond)));
  } else if (!dice_.chance(parts_.work.task_fails)) {
    parts_.reports->finished(hold, "done");
  } else if (dice_.chance(0.2)) {
    parts_.reports->failed(hold, HoldReports::Next::requeue, "not now", Nanos(dice_.between(0, kSecond)));
  } else {
    parts_.reports->failed(hold, dice_.chance(0.1) ? HoldReports::Next::bury : HoldReports::Next::retry, "failed", {});
  }
  forget(hold.epoch);
}

void SimHost::become_started(Run& run) {
  if (run.stopping) return;
  const Hold& hold = run.job.hold;
  // By the process: a program of a bad version is so for as long as it runs. Half of them notice only once they run.
  Dice program(0x70726f6772616dULL + parts_.process.number());
  if (program.chance(parts_.work.bad_programs)) {
    end_hold(run);
    const bool late = program.chance(0.5);
    if (late) parts_.reports->begun(hold);
    parts_.reports->failed(hold, late ? HoldReports::Next::retry : HoldReports::Next::drop, "bad program", {});
    return forget(hold.epoch);
  }
  const bool requeues = dice_.chance(parts_.work.start_requeues);
  if (requeues || dice_.chance(parts_.work.start_fails)) {
    end_hold(run);
    parts_.reports->failed(hold, requeues ? HoldReports::Next::requeue : HoldReports::Next::drop, "no start",
                           Nanos(dice_.between(0, kSecond)));
    return forget(hold.epoch);
  }
  run.started = true;
  parts_.reports->started(hold);
  live(run);
}

// A resident job's life, a step at a time.
void SimHost::live(Run& run) {
  if (run.stopping && !run.deaf) return;
  const Hold& hold = run.job.hold;
  const Time span = dice_.magnitude(10 * kMilli, kSecond);
  const double seconds = static_cast<double>(span) / static_cast<double>(kSecond);
  parts_.recorder.add(parts_.process,
                      Wrote{parts_.process.number(), hold.key, hold.epoch, parts_.store.write(hold.key, hold.epoch)});
  if (parts_.work.backlogs && is_partition(hold.key)) {
    report_backlog(run, seconds);
  } else if (dice_.chance(parts_.work.checkpoints * seconds)) {
    parts_.reports->checkpoint(hold, Recorder::bytes_with(dice_.id(), 16));
  }
  if (!is_partition(hold.key) && parts_.work.emits != 0 && emit_dice_.chance(parts_.work.emits * seconds))
    emits_.step(hold, *run.thread);
  if (!run.stopping && dice_.chance(parts_.work.finishes * seconds)) {
    end_hold(run);
    parts_.reports->finished(hold, "finished");
    return forget(hold.epoch);
  }
  later(run, span, &SimHost::live);
}

// The numbers differ in their first digits, by which the checker knows one checkpoint from another.
void SimHost::report_backlog(Run& run, double seconds) {
  const bool last = parts_.work.behind == 0 && !std::exchange(run.caught_up, true);
  if (!last && !surge_dice_.chance(seconds)) return;
  const bool behind = surge_dice_.chance(parts_.work.behind);
  const Time rows =
      behind ? surge_dice_.between(kBehind, 9 * kBehind) : surge_dice_.between(kBehind / 10'000, kBehind / 1'000);
  parts_.reports->checkpoint(run.job.hold, std::to_string(rows));
}

void SimHost::stop(const Hold& hold, StopReason, Instant deadline) {
  const auto found = runs_.find(hold.epoch);
  if (found == runs_.end()) return;
  found->second.thread->post([this, epoch = hold.epoch] {
    const auto run = runs_.find(epoch);
    if (run != runs_.end()) trip(run->second);
  });
  // At the deadline it is killed, if that is possible; a thread cannot be, and is left to the lease.
  found->second.thread->at(deadline, [this, epoch = hold.epoch] {
    const auto run = runs_.find(epoch);
    if (run != runs_.end() && run->second.child) end_stopped(run->second);
  });
}

void SimHost::trip(Run& run) {
  if (run.stopping) return;
  run.stopping = true;
  if (!run.begun) return;  // begin() gives it back
  // A deaf handler comes to its senses in the end, so that every run has one.
  later(run, run.deaf ? dice_.between(0, 30 * kSecond) : dice_.tailed(0, parts_.work.stop_max), &SimHost::end_stopped);
}

void SimHost::end_stopped(Run& run) {
  if (run.begun) end_hold(run);
  const Hold hold = run.job.hold;
  if (run.begun && dice_.chance(parts_.work.leaves_blob)) {
    parts_.reports->released(hold, Recorder::bytes_with(dice_.id(), 16));
  } else {
    parts_.reports->released(hold);
  }
  forget(hold.epoch);
}

void SimHost::give_back(Run& run) {
  const Hold hold = run.job.hold;
  parts_.reports->released(hold);
  forget(hold.epoch);
}

void SimHost::give_back_waiting(std::uint64_t /*session*/) {
  for (auto at = runs_.begin(); at != runs_.end();) {
    Run& run = (at++)->second;
    if (!run.begun && run.job.kind == JobKind::task) give_back(run);
  }
}

void SimHost::message(const Hold& hold, std::uint64_t number, BytesView text) {
  const auto found = runs_.find(hold.epoch);
  if (found == runs_.end()) return;
  found->second.thread->post([this, epoch = hold.epoch, number, ticket = parts_.recorder.ticket_of(text)] {
    const auto at = runs_.find(epoch);
    if (at == runs_.end() || !at->second.begun || at->second.stopping) return;
    Run& run = at->second;
    const bool refused = dice_.chance(parts_.work.refuses_messages);
    parts_.recorder.add(parts_.process, Delivered{parts_.process.number(), run.job.hold.key, epoch, ticket, refused});
    run.handled = number;
    if (refused) return parts_.reports->message_failed(run.job.hold, number, "takes no messages");
    parts_.reports->handled(run.job.hold, number);
  });
}

void SimHost::fence(std::uint64_t session) {
  for (auto& [epoch, run] : runs_) {
    if (run.job.session == session) trip(run);
  }
}

void SimHost::kill(std::uint64_t session) {
  for (auto at = runs_.begin(); at != runs_.end();) {
    Run& run = (at++)->second;
    if (run.job.session != session) continue;
    if (run.begun && !run.child) return parts_.process.crash();
    if (run.begun) end_hold(run);
    give_back(run);
  }
}

void SimHost::end_hold(Run& run) {
  parts_.recorder.add(parts_.process, HoldEnded{parts_.process.number(), run.job.hold.key, run.job.hold.epoch});
}

}  // namespace tenure::sim
