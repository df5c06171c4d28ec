#include "sim/pool/pool_run.h"

#include <algorithm>

#include "base/mutant.h"
#include "sim/pool/actor.h"
#include "sim/pool/tastes.h"
#include "sim/pool/visitor.h"

namespace tenure::sim {

namespace {

constexpr Time kSettleMax = 120 * kSecond;
// A pool of this size makes some thousand events a second. One that makes millions turns in a circle.
constexpr std::uint64_t kEventsMax = 10'000'000;
constexpr Time kQuiet = 2 * kSecond;     // how long the run continues once everything is settled
constexpr Time kWatched = 60 * kSecond;  // how long a pool that has recovered is watched, where it was allowed longer

}  // namespace

PoolRun::PoolRun(const Plan& plan)
    : plan_(plan),
      world_(plan.seed),
      server_(world_, plan.server),
      wires_(world_, server_, plan.wires),
      recorder_(world_),
      onlooker_(server_, recorder_),
      work_(plan.work),
      dice_(world_.fork("run")),
      versions_(world_.fork("versions")),
      types_(world_.fork("types")),
      ends_(world_.fork("ends")),
      ring_(world_.fork("ring")),
      placing_(plan.choice),
      run_{world_, wires_, onlooker_, recorder_, store_, work_},
      reports_(world_, wires_, onlooker_, plan_) {
  wires_.options().beats_prove = !MUTANT(beats_unproven);
  for (std::uint32_t i = 0; i < plan.nodes; ++i)
    add_seat(std::string("n").append(std::to_string(i)), Seat::Kind::worker);
  for (std::uint32_t i = 0; i < plan.clients; ++i) {
    // A client is a node without workers, which follows the pool, or keeps no state at all.
    add_seat(std::string("c").append(std::to_string(i)), dice_.chance(0.5) ? Seat::Kind::visitor : Seat::Kind::asker);
  }
}

PoolRun::~PoolRun() {
  // While everything the bodies refer to is still there.
  for (const auto& process : world_.processes()) {
    process->on_crash = nullptr;
    process->crash();
  }
}

void PoolRun::add_seat(std::string name, Seat::Kind kind) {
  auto seat = std::make_unique<Seat>();
  seat->number = static_cast<std::uint32_t>(seats_.size());
  seat->name = std::move(name);
  seat->kind = kind;
  seat->speaks = plan_.older;
  seat->clock = std::make_unique<SimClock>(world_, Nanos(dice_.between(kSecond, 1'000'000 * kSecond)),
                                           dice_.between(-plan_.ppm_max, plan_.ppm_max),
                                           plan_.server.start_ms + dice_.between(-3'600'000, 3'600'000));
  seats_.push_back(std::move(seat));
}

std::shared_ptr<Caller> PoolRun::make_caller(Seat& seat) {
  if (seat.kind == Seat::Kind::visitor) return std::make_shared<Visitor>(run_, *seat.process, seat.link, seat.speaks);
  Actor::Options options;
  options.node.name = seat.name;
  options.node.host = seat.name;
  options.node.pid = seat.process->number();
  options.node.lease = Nanos(plan_.lease);
  options.node.config.max_queued_jobs = plan_.queue_bound;
  options.node.config.max_delayed_jobs = plan_.delayed_bound;
  options.node.config.pending_job_ttl_ms = std::max<std::int64_t>(plan_.start_patience / kMilli, 1);
  options.node.config.max_attempts = plan_.max_attempts;
  options.node.config.shard = plan_.shard;
  options.node.config.quarantine_after = plan_.quarantine_after;
  options.node.config.assignment = plan_.assignment;
  const bool chooses = !plan_.some_cannot_choose || seat.number % 3 != 2;
  if (plan_.choice.any && chooses) options.node.choose = plan_.choice.function();
  options.node.config.backoff_base_ms = 100;
  options.node.config.backoff_cap_ms = 1000;
  options.node.replica.snapshot_bytes_min = plan_.snapshot_bytes_min;
  options.node.speaks = seat.speaks;
  options.node.look_every = plan_.look_every;
  options.node.restore_part_bytes = plan_.restore_part_bytes;
  for (std::uint32_t i = 0; seat.kind == Seat::Kind::worker && i < plan_.workers_per_node; ++i) {
    const bool knows = seat.speaks >= kTakesVersion;
    const std::vector<std::string> taste = knows ? taste_of(plan_, seat.number, i) : std::vector<std::string>();
    options.workers.push_back({.id = seat.name + "." + std::to_string(i),
                               .window = plan_.window == 0 ? kWindowDefault : plan_.window,
                               .replaces = {},
                               .serves = {},
                               .takes = to_takes(taste),
                               .isolates = plan_.isolates,
                               .helps = plan_.helpers && (seat.number + i) % 2 == 0});
    recorder_.add(WorkerTakes{seat.process->number(), options.workers.back().id, taste});
  }
  const bool ranked = seat.kind == Seat::Kind::worker && plan_.ring.partitions != 0;
  if (ranked && seat.speaks >= version_of(Rule::ranks)) options.workers.push_back(ranked_worker(seat));
  return std::make_shared<Actor>(run_, *seat.process, seat.link, std::move(options));
}

void PoolRun::start(Seat& seat) {
  seat.process = &world_.start_process(seat.name, *seat.clock);
  ++seat.lives;
  seat.leaving = false;
  auto caller = make_caller(seat);
  seat.caller = caller.get();
  seat.process->own(std::move(caller));
  seat.process->on_crash = [this, &seat, number = seat.process->number()] {
    recorder_.add(ProcessCrashed{number});
    reports_.died(*seat.process, seat.caller->session(), seat.link);
    gone(seat);
  };
  seat.caller->on_closed = [this, &seat] {
    // It ends normally. Keys that it still held would stay held.
    recorder_.add(ProcessLeft{seat.process->number()});
    seat.process->on_crash = [this, &seat] { gone(seat); };
    seat.process->crash();
  };
  // Both may come in the rest of a piece of work in whose middle the process has died.
  seat.caller->on_broken = [&process = *seat.process] { process.crash(); };
  // The operator reads why, and installs the newer program.
  seat.caller->on_too_old = [this, &seat, &process = *seat.process] {
    if (!process.alive()) return;
    seat.speaks = plan_.older + 1;
    process.crash();
  };
  // It names other partitions than the pool has. The operator starts it again with those.
  seat.caller->on_misfit = [&process = *seat.process] {
    if (process.alive()) process.crash();
  };
  seat.caller->start();
}

void PoolRun::gone(Seat& seat) {
  seat.caller = nullptr;
  seat.process = nullptr;
  started_again(seat, healed_ ? 100 * kMilli : dice_.magnitude(10 * kMilli, 10 * kSecond));
}

void PoolRun::started_again(Seat& seat, Time after) {
  world_.after(after, [this, &seat] {
    if (seat.process != nullptr) return;
    if (ends_now() && any_member()) return started_again(seat, 100 * kMilli);
    start(seat);
  });
}

Outcome PoolRun::run() {
  for (const auto& seat : seats_) started_again(*seat, dice_.between(0, kSecond));
  for (std::uint32_t i = 0; i < plan_.clients; ++i) plan_request(i);
  for (std::size_t kind = 0; kind < kFaults; ++kind) plan_fault(static_cast<Fault>(kind));
  plan_upgrade();
  plan_serve();
  plan_resize();
  plan_shutdown();
  const auto never = [] { return false; };
  run_until(plan_.busy, never);

  heal();
  if (plan_.ends_last) end_last();
  const Time healed = world_.now();
  const Time due = healed + expectations().recovery;
  run_until(due, [this] { return all_held(); });
  outcome_.recovery_allowed = due - healed;
  outcome_.recovered_in = world_.now() - healed;
  const Time seen = std::min(due, world_.now() + std::max(kWatched, 2 * plan_.lease));
  run_until(seen, never);
  run_until(due + kSettleMax, [this] { return settled(); });
  run_until(world_.now() + kQuiet, never);
  recorder_.add(Closed{server_.kept_entries(), server_.bytes_since_snapshot(), snapshot_bytes()});

  outcome_.violations = check(recorder_.history(), expectations());
  if (world_.events() > kEventsMax) {
    outcome_.violations.push_back({'k', world_.now(), "the pool turns in a circle and never comes to rest"});
  }
  outcome_.trace = world_.trace();
  outcome_.simulated = world_.now();
  outcome_.events = world_.events();
  outcome_.grants = onlooker_.machine().stats().grants;
  outcome_.wire_faults = wires_.faults();
  outcome_.switched = onlooker_.newest_version() > plan_.older ? 1 : 0;
  return outcome_;
}

std::uint64_t PoolRun::snapshot_bytes() const {
  std::uint64_t bytes = 0;
  for (const Bytes& chunk : server_.snapshot()->chunks) bytes += chunk.size();
  return bytes;
}

void PoolRun::heal() {
  healed_ = true;
  if (plan_.serve_every != 0) serves_until_ = world_.now() + 8 * kSecond;
  wires_.calm();
  work_.start_fails = work_.start_requeues = work_.task_fails = work_.ignores_stop = 0;
  work_.task_max = 10 * kMilli;
  work_.finishes = 0;
  work_.emits = 0;
  work_.behind = 0;
  work_.poison = 0;
  work_.bad_programs = 0;
  for (const auto& seat : seats_) {
    wires_.heal(seat->link);
    seat->link.read_delay_max = 0;
    if (seat->process == nullptr) {
      started_again(*seat, 0);
      continue;
    }
    for (const auto& loop : seat->process->loops()) loop->unstall();
    if (seat->process->paused()) {
      recorder_.add(ProcessResumed{seat->process->number()});
      seat->process->resume();
    }
  }
  recorder_.add(Healed{});
}

void PoolRun::run_until(Time until, const std::function<bool()>& stop) {
  world_.run_until(until, [&] { return world_.events() > kEventsMax || stop(); });
}

// A member is putting the pool back, or is about to.
bool PoolRun::comes_back() const {
  const Machine& machine = onlooker_.machine();
  if (machine.restoration().under_way) return true;
  if (machine.restoration().origin != RestorationState::Origin::open) return false;
  const auto& sessions = machine.sessions().all;
  return std::any_of(sessions.begin(), sessions.end(), [](const auto& entry) { return entry.second.restores; });
}

bool PoolRun::all_held() const {
  if (comes_back()) return false;
  bool held = true;
  onlooker_.machine().each_job(0, [&](const JobInfo& job) {
    held = job.kind == JobKind::task || job.state == JobState::running || job.state == JobState::stopping ||
           job.state == JobState::dead || job.state == JobState::quarantined;
    return held;
  });
  return held;
}

// Nothing is left but resident jobs that run.
bool PoolRun::settled() {
  if (onlooker_.machine().shutting_down() || world_.now() < serves_until_ || comes_back()) return false;
  bool quiet = true;
  onlooker_.machine().each_job(0, [&](const JobInfo& job) {
    quiet = job.kind == JobKind::resident &&
            (job.state == JobState::running || job.state == JobState::dead || job.state == JobState::quarantined);
    return quiet;
  });
  return quiet && all_placed() && all_with_primaries();
}

Expectations PoolRun::expectations() const {
  Expectations expected;
  expected.lease = plan_.lease;
  expected.calm = plan_.calm();
  // The batch before is on its way, there and back; and then this.
  expected.telling = 4 * (plan_.wires.latency_max + plan_.wires.data_extra_max) + 20 * kMilli;
  // The margin has to cover stalls of the heart's thread. It may be stalled just when its process continues.
  if (plan_.interval(Fault::stall) != 0) {
    expected.watchdog_slack += plan_.lease / 50;
    expected.resume_slack += plan_.lease / 50;
  }
  // A lease until the deaths are noticed, half a lease more for the last member to claim them, and a beat to see it.
  // Twice the time of an answer that was lost just before healing. And the handlers' stops and starts, on the first
  // worker and on one that joined meanwhile.
  const Time spoken = plan_.lease + plan_.lease / 2 + plan_.lease / 5;
  expected.recovery = spoken + 2 * plan_.wires.timeout + 2 * (plan_.work.start_max + plan_.work.stop_max) + kSecond;
  // Workers that were unfit are tried, the last time before long. Tries are at most as far apart as the run has lasted.
  if (plan_.work.start_fails != 0) expected.recovery += 2 * kProbeMsMin * kMilli;
  if (plan_.work.bad_programs != 0) {
    expected.recovery += std::min<Time>(2 * plan_.busy, kProbeMsMax * kMilli) + 2 * kSecond;
  }
  // Where one worker takes what no other does, its next life has to be added: in an upgrade, once all have switched.
  if (plan_.choosy) expected.recovery += plan_.lease / 2 + kSecond;
  // And its last life may have to wait for a handler that does not stop.
  if (plan_.choosy && plan_.work.ignores_stop != 0) expected.recovery += 20 * kSecond;
  // A reader of a replaced log notices that.
  if (plan_.interval(Fault::replaced) != 0) expected.recovery += plan_.wires.doubt_max;
  // Where all was lost, the pool is put back once the leases of all are over; those who remember less let others go
  // first.
  for (const Fault loss : {Fault::wiped, Fault::replaced, Fault::lost_tail}) {
    if (plan_.interval(loss) == 0) continue;
    expected.recovery += plan_.lease + plan_.nodes * plan_.lease / 4 + kSecond;
    if (loss == Fault::wiped) expected.recovery += 2 * plan_.lease;  // with fragments, they wait longer
    break;
  }
  expected.queue_bound = plan_.queue_bound;
  // A handler that does not hear its stop token comes to its senses after 30 s.
  expected.ending = expected.recovery + 35 * kSecond;
  expected.placing = plan_.choosy ? INT64_MAX / 4 : expected.recovery + 35 * kSecond;
  expected.choice = plan_.choice;
  expected.ring = onlooker_.machine().config().ring;
  expected.ranking = expected.recovery + 35 * kSecond + (expected.ring.settle_ms + kTriedAgainMs) * kMilli;
  expected.quarantine_after = plan_.quarantine_after;
  expected.delayed_bound = plan_.delayed_bound;
  expected.engine_steps = plan_.interval(Fault::lost_tail) != 0;  // another server, with a clock of its own
  expected.shard = plan_.shard;
  // A snapshot is due when the log since the last one is twice as large as the state, or four times if the state has
  // shrunk, and twice that if the log is busy. Entries in flight come on top.
  // The stored snapshot may be of a much smaller state.
  const std::uint64_t state_bytes = std::max(2 * snapshot_bytes(), onlooker_.machine().state_bytes());
  expected.bytes_since_snapshot_max = 8 * std::max(plan_.snapshot_bytes_min, state_bytes) + (64U << 10);
  return expected;
}

}  // namespace tenure::sim
