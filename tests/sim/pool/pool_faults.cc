// The faults of a run's processes, hosts and log.

#include <algorithm>

#include "sim/pool/pool_run.h"
#include "tenure/v1/record.pb.h"

namespace tenure::sim {

void PoolRun::plan_fault(Fault fault) {
  const Time mean = plan_.interval(fault);
  if (mean == 0) return;
  world_.after(dice_.between(0, 2 * mean), [this, fault] {
    if (healed_) return;
    strike(fault);
    plan_fault(fault);
  });
}

// A short trouble is the rule, one that outlasts a lease the exception, and one of just about a lease not rare.
Time PoolRun::short_or_past_lease() {
  switch (dice_.below(4)) {
    case 0: return dice_.between(plan_.lease / 2, plan_.lease * 3 / 2);
    case 1: return dice_.between(plan_.lease, plan_.lease * 4);
    default: return dice_.magnitude(kMilli, plan_.lease);
  }
}

PoolRun::Seat* PoolRun::victim(bool workers_only) {
  const std::size_t count = workers_only ? plan_.nodes : seats_.size();
  Seat& seat = *seats_[dice_.below(count)];
  return seat.process == nullptr ? nullptr : &seat;
}

void PoolRun::strike(Fault fault) {
  Seat* seat = victim(fault == Fault::leave);
  if (seat == nullptr) return;
  ++outcome_.faults[static_cast<std::size_t>(fault)];
  switch (fault) {
    case Fault::crash: return seat->process->crash();
    case Fault::crash_inside: return seat->process->doom();
    case Fault::pause: return pause(*seat, short_or_past_lease());
    case Fault::stall: {
      const auto& loops = seat->process->loops();
      SimLoop& loop = *loops[dice_.below(loops.size())];
      // The heart's thread does nothing but beat and fence; what may hold it up is for the margin to cover.
      const Time span = loop.name() == "heart" ? dice_.between(0, plan_.lease / 50) : short_or_past_lease();
      return seat->process->stall(loop, span);
    }
    case Fault::cut: return cut(*seat, true, true, short_or_past_lease());
    case Fault::cut_one_way: {
      const bool to_server = dice_.chance(0.5);
      return cut(*seat, to_server, !to_server, short_or_past_lease());
    }
    case Fault::outage: return wires_.outage(short_or_past_lease());
    case Fault::slow_reader:
      // What is under way when all heals still takes so long, and the run has to see it arrive.
      seat->link.read_delay_max = dice_.magnitude(kMilli, std::min(2 * plan_.lease, 20 * kSecond));
      return world_.after(short_or_past_lease(), [seat] { seat->link.read_delay_max = 0; });
    case Fault::trim: return server_.trim(server_.last());
    case Fault::lost_tail: return fail_over();
    case Fault::replaced: server_.replace(); return wires_.replaced();
    case Fault::wiped: server_.wipe(); return wires_.poke();
    case Fault::ended: return order_the_end();
    case Fault::junk: return throw_junk();
    case Fault::clock_rate:
      world_.set_clock_rate(*seat->clock, dice_.between(-plan_.ppm_max, plan_.ppm_max));
      return seat->caller->clock_changed();
    case Fault::wall_step: return seat->clock->step_wall(dice_.between(-7'200'000, 7'200'000));
    case Fault::leave:
      if (seat->leaving) return;
      seat->leaving = true;
      return seat->caller->leave();
  }
}

void PoolRun::pause(Seat& seat, Time span) {
  Process& process = *seat.process;
  if (process.paused()) return;
  recorder_.add(ProcessPaused{process.number()});
  process.pause();
  world_.after(span, [this, &process] {
    if (!process.alive() || !process.paused()) return;
    recorder_.add(ProcessResumed{process.number()});
    process.resume();
  });
}

void PoolRun::cut(Seat& seat, bool to_server, bool to_host, Time span) {
  seat.link.to_server_cut = seat.link.to_server_cut || to_server;
  seat.link.to_host_cut = seat.link.to_host_cut || to_host;
  world_.after(span, [this, &seat] { wires_.heal(seat.link); });
}

// Nobody reaches a server for a while, and the one that is there then has not seen the last of what was acknowledged.
// The clocks of two servers agree within the time that a failover takes: epochs count on it.
void PoolRun::fail_over() {
  const Time span = dice_.magnitude(50 * kMilli, plan_.lease);
  wires_.outage(span);
  const Time lost = dice_.magnitude(kMilli, 3 * kSecond);
  const std::int64_t change_max = span / kMilli / 2;
  const std::int64_t skew = server_.skew_ms() + dice_.between(-change_max, change_max);
  server_.lose_since(world_.now() - lost, std::clamp<std::int64_t>(skew, -500, 500));
}

// As a caller does who dies right after.
void PoolRun::order_the_end() {
  v1::Batch batch;
  batch.set_format(1);
  batch.set_sender(dice_.next() | 1);
  batch.set_sequence(1);
  batch.add_records()->mutable_shutdown();
  server_.append(batch.SerializeAsString());
  wires_.poke();
}

// Bytes that are not a batch, or not ours: all nodes must skip them in the same way. Bytes that parse must have their
// real sender and sequence, because a forger who invents new ones is not among the faults.
void PoolRun::throw_junk() {
  if (wires_.down()) return;  // nobody reaches the server
  Bytes bytes;
  const auto& history = server_.history();
  if (!history.empty() && dice_.chance(0.7)) {
    bytes = history[dice_.below(history.size())].entry.data;
    v1::Batch sent;
    sent.ParseFromString(bytes);
    if (dice_.chance(0.5)) bytes.resize(dice_.below(bytes.size() + 1));
    if (!bytes.empty() && dice_.chance(0.7))
      bytes[dice_.below(bytes.size())] ^= static_cast<char>(dice_.between(1, 255));
    v1::Batch damaged;
    const bool parses = damaged.ParseFromString(bytes);
    if (parses && (damaged.sender() != sent.sender() || damaged.sequence() != sent.sequence())) return;
  } else {
    bytes.resize(dice_.below(100));
    for (char& byte : bytes) byte = static_cast<char>(dice_.next());
  }
  server_.append(std::move(bytes));
  wires_.poke();
}

void PoolRun::plan_upgrade() {
  if (plan_.upgrade_every == 0) return;
  world_.after(versions_.between(0, 2 * plan_.upgrade_every), [this] {
    if (healed_) return;
    replace_program(*seats_[versions_.below(seats_.size())]);
    plan_upgrade();
  });
}

// The process ends in good order or is killed, and the one that follows runs the other program.
void PoolRun::replace_program(Seat& seat) {
  seat.speaks = plan_.older + (versions_.chance(0.85) ? 1 : 0);
  if (seat.process == nullptr) return;
  ++outcome_.upgrades;
  if (seat.leaving || versions_.chance(0.3)) return seat.process->crash();
  seat.leaving = true;
  seat.caller->leave();
}

}  // namespace tenure::sim
