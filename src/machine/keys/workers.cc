#include "machine/keys/workers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "machine/limits.h"
#include "tenure/v1/keys.pb.h"

namespace tenure {
namespace {

TenureEnd end_of_tenures(SessionEnd how) {
  switch (how) {
    case SessionEnd::left: return TenureEnd::left;
    case SessionEnd::fenced: return TenureEnd::fenced;
    case SessionEnd::crashed: return TenureEnd::crashed;
    case SessionEnd::expired: return TenureEnd::expired;
  }
  return TenureEnd::expired;
}

}  // namespace

void Workers::on_taker(const v1::AddWorker& record) {
  if (context_.rule(Rule::takes)) return on(record);
  ++context_.stats.records_unknown;
}

void Workers::on_ranked(const v1::AddWorker& record) {
  if (context_.rule(Rule::ranks)) return on(record);
  ++context_.stats.records_unknown;
}

void Workers::on(const v1::AddWorker& record) {
  if (context_.sessions().find(record.session()) == nullptr) return context_.refuse_record();
  if (const Errc why = judge(record); why != Errc{}) {
    context_.refuse_record();
    return context_.effects().worker_refused(context_.at(), record.session(), record.worker(), why);
  }

  WorkerIx replaced = record.replaces().empty() ? kNone : state_.workers.find(record.replaces());
  if (Ring ring; record.has_ring() && context_.config().ring.partitions == 0 && load_ring(record.ring(), ring)) {
    partitions_.set(ring);
  }
  const WorkerIx ix = add(record);
  PoolWorker& worker = state_.workers[ix];
  const WorkerIx named = replaced;
  const bool inherits = replaced != kNone && probation_.replace(replaced, ix);
  state_.workers.settle_place(ix);
  context_.note(worker.place.seed);
  context_.effects().worker_added(context_.at(), worker.session, worker.id);
  placement_.refresh_open();
  for (const Bytes& key : record.serves()) placement_.set_serves(ix, key, true);
  ranks_.watch(ix);
  placement_.worker_opened(ix, replaced, inherits);
  if (named != replaced) placement_.worker_closed(named);
}

Errc Workers::judge(const v1::AddWorker& record) const {
  const bool sound = !record.worker().empty() && record.worker().size() <= kIdBytesMax &&
                     record.weight() <= kWeightMax && record.window() <= kWindowMax &&
                     record.replaces().size() <= kIdBytesMax &&
                     static_cast<std::size_t>(record.serves_size()) <= kServedPerWorkerMax &&
                     std::all_of(record.serves().begin(), record.serves().end(),
                                 [](const Bytes& key) { return !key.empty() && key.size() <= kKeyBytesMax; });
  if (!sound) return Errc::invalid;
  if (context_.rule(Rule::takes) && !Takes().load(record.takes())) return Errc::invalid;
  if (state_.workers.find(record.worker()) != kNone) return Errc::key_exists;
  if (state_.workers.by_age.size() >= kWorkersMax) return Errc::pool_full;
  return record.has_ring() ? judge_rank(record) : Errc{};
}

// A worker that names other partitions than the pool has would process the wrong rows.
Errc Workers::judge_rank(const v1::AddWorker& record) const {
  const PoolConfig& config = context_.config();
  const std::uint32_t ordinal = ordinal_of(record);
  Ring ring;
  if (!load_ring(record.ring(), ring) || ordinal >= ring.partitions || config.shard.count != 1) return Errc::invalid;
  if (config.ring.partitions == 0) return partitions_.may_begin() ? Errc{} : Errc::key_exists;
  if (ring != config.ring) return Errc::invalid;
  const WorkerIx named = record.replaces().empty() ? kNone : state_.workers.find(record.replaces());
  const bool taken = std::any_of(state_.workers.by_age.begin(), state_.workers.by_age.end(), [&](WorkerIx ix) {
    const PoolWorker& worker = state_.workers[ix];
    return ix != named && worker.ordinal == ordinal && !worker.draining && worker.successor == kNone;
  });
  return taken ? Errc::key_exists : Errc{};
}

std::uint32_t Workers::ordinal_of(const v1::AddWorker& record) const {
  if (!record.has_ring()) return kNoOrdinal;
  if (record.ordinal_plus_one() != 0) return record.ordinal_plus_one() - 1;
  const WorkerIx named = record.replaces().empty() ? kNone : state_.workers.find(record.replaces());
  return named == kNone ? kNoOrdinal : state_.workers[named].ordinal;
}

// The name determines the place, so a worker that comes back gets its keys back. A worker that replaces another gets
// that one's current or last place. It may replace its own former life.
WorkerIx Workers::add(const v1::AddWorker& record) {
  const std::uint64_t seed =
      record.replaces().empty() ? hash_bytes(record.worker()) : state_.workers.seed_of(record.replaces());
  const std::uint32_t ordinal = ordinal_of(record);
  const WorkerIx ix = state_.workers.add();
  if (state_.queues.size() <= ix) state_.queues.resize(ix + 1);
  PoolWorker& worker = state_.workers[ix];
  worker.id = record.worker();
  worker.session = record.session();
  worker.joined_ms = context_.log_time_ms();
  worker.isolates = record.isolates();
  worker.helps = record.helps();
  worker.window = record.window() == 0 ? kWindowDefault : record.window();
  worker.place.weight = record.weight() == 0 ? kWeightDefault : record.weight();
  worker.place.seed = seed;
  worker.ordinal = ordinal;
  if (context_.rule(Rule::takes)) worker.takes.load(record.takes());
  return ix;
}

void Workers::on(const v1::RemoveWorker& record) {
  const WorkerIx ix = state_.workers.find(record.worker());
  if (ix == kNone || state_.workers[ix].session != record.session()) return context_.refuse_record();
  remove(ix, TenureEnd::left, nullptr);
}

void Workers::on(const v1::Drain& record) {
  const WorkerIx ix = state_.workers.find(record.worker());
  if (ix == kNone) return context_.refuse_record();
  PoolWorker& worker = state_.workers[ix];
  const bool leaves = record.leaving() && !std::exchange(worker.leaving, worker.leaving || record.leaving());
  if (worker.draining && !leaves) return context_.refuse_record();
  context_.note(worker.age);
  if (std::exchange(worker.draining, true)) return;
  probation_.worker_drains(ix);
  placement_.refresh_open();
  placement_.worker_closed(ix);
  open_drained();
}

void Workers::open_drained() {
  if (!context_.shutting_down() || MUTANT(shutdown_leaves_drained)) return;
  // Where some take only certain tasks, the drained ones may be the only ones that take the others.
  if (state_.takers.any(JobKind::task) && state_.takers.uniform(JobKind::task)) return;
  std::vector<WorkerIx> drained;
  for (const WorkerIx ix : state_.workers.by_age) {
    const PoolWorker& worker = state_.workers[ix];
    if (worker.live && !worker.leaving && !worker.replaced && !worker.open()) drained.push_back(ix);
  }
  for (const WorkerIx ix : drained) {
    state_.workers[ix].draining = false;
    probation_.worker_reopens(ix);
  }
  placement_.refresh_open();
  for (const WorkerIx ix : drained) placement_.worker_opened(ix, kNone, false);
}

void Workers::settled(const MachineTimer& timer) {
  state_.workers[timer.id].settle_due_ms = 0;
  ranks_.watch(timer.id);  // the pool may want it to wait for longer by now
  placement_.offer_partitions(timer.id);
}

void Workers::on(const v1::Serve& record) {
  const WorkerIx ix = state_.workers.find(record.worker());
  if (ix == kNone || state_.workers[ix].session != record.session()) return context_.refuse_record();
  const auto set = [&](const auto& keys, bool serves) {
    for (const Bytes& key : keys) {
      if (!key.empty() && key.size() <= kKeyBytesMax) placement_.set_serves(ix, key, serves);
    }
  };
  set(record.remove(), false);
  set(record.add(), true);
}

void Workers::session_ended(const EndedSession& ended) {
  const bool died = ended.how == SessionEnd::crashed || ended.how == SessionEnd::expired;
  const Death death = died ? blame_.death_of(ended) : Death{};
  const std::vector<WorkerIx> workers = state_.workers.by_age;
  for (const WorkerIx ix : workers) {
    if (state_.workers[ix].session == ended.id) remove(ix, end_of_tenures(ended.how), died ? &death : nullptr);
  }
  if (!MUTANT(foreign_culprit)) return;
  for (const SlotId slot : state_.table.select([](const Placed& placed) { return placed.holder != kNone; })) {
    const std::uint64_t epoch = state_.table.slots[slot].epoch;
    const bool named = std::binary_search(death.culprits.begin(), death.culprits.end(), epoch);
    if (named) tenures_.orphan(slot, TenureEnd::crashed, &death);
  }
}

// Its keys wait for their next holder at once. One pass, because there may be half a million.
void Workers::remove(WorkerIx ix, TenureEnd why, const Death* death) {
  state_.workers[ix].draining = true;
  state_.workers[ix].leaving = true;
  placement_.refresh_open();
  placement_.stop_serving(ix);

  const std::vector<SlotId> held = state_.table.select([ix](const Placed& placed) { return placed.holder == ix; });
  state_.table.visit_each(held, KeyTable::Ahead::slots_and_heads, [&](SlotId slot) {
    slots_.touch(slot);
    placement_.retarget_orphan(slot, ix);
    tenures_.orphan(slot, why, death);
  });
  placement_.worker_closed(ix);
  context_.effects().worker_removed(context_.at(), state_.workers[ix].session, state_.workers[ix].id);
  probation_.worker_gone(ix);
  ranks_.forget(ix);
  state_.workers.remove(ix);
  placement_.refresh_open();
  open_drained();
}

}  // namespace tenure
