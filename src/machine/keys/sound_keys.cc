// Checks that a state read from bytes could be the result of applying records. A snapshot may be damaged or forged. A
// state that passes must never break an assertion later.

#include <algorithm>
#include <vector>

#include "base/mutant.h"
#include "machine/keys/keys_snapshot.h"
#include "machine/limits.h"
#include "machine/load.h"
#include "machine/own_names.h"

namespace tenure {
namespace {

bool is_held(JobState state) {
  return state == JobState::starting || state == JobState::running || state == JobState::stopping ||
         state == JobState::moving;
}

// Every job is in exactly one list of one key, or is a dead task.
bool lists_fit(const KeysState& keys, const FrameState& frame) {
  std::vector<bool> seen(keys.table.jobs.end());
  std::uint64_t queued = 0;
  std::uint64_t delayed = 0;
  for (const JobId id : keys.table.jobs.free_list()) {
    if (keys.table.jobs[id].ticket != 0) return false;
    seen[id] = true;
  }
  const auto take = [&](JobId id, SlotId slot) {
    if (id >= seen.size() || seen[id]) return false;
    const KeptJob& job = keys.table.jobs[id];
    if (job.slot != slot || job.ticket == 0 || job.stamp > frame.stamps) return false;
    seen[id] = true;
    delayed += job.progress == Progress::delayed ? 1 : 0;
    queued += job.progress == Progress::queued || job.progress == Progress::granted ? 1 : 0;
    return true;
  };
  const auto walk = [&](JobId first, SlotId slot, bool waits, JobId* last) {
    for (JobId id = first; id != kNone; id = keys.table.jobs[id].next) {
      if (!take(id, slot) || (keys.table.jobs[id].progress == Progress::delayed) != waits) return false;
      *last = id;
    }
    return true;
  };
  for (const SlotId id : keys.table.slots.free_list()) {
    if (keys.table.slots[id].live) return false;
  }
  for (SlotId id = 0; id < keys.table.slots.end(); ++id) {
    const Slot& slot = keys.table.slots[id];
    if (!slot.live) continue;
    JobId last = kNone;
    JobId delayed_last = kNone;
    const bool waits = slot.kind == JobKind::resident && slot.state == JobState::waiting && slot.head != kNone &&
                       slot.head < keys.table.jobs.end() && keys.table.jobs[slot.head].progress == Progress::delayed;
    if (!walk(slot.head, id, waits, &last) || last != slot.tail) return false;
    if (!walk(slot.delayed, id, true, &delayed_last)) return false;
    if (slot.head == kNone && slot.delayed == kNone) return false;
    // A resident job is a list of one.
    if (slot.kind == JobKind::resident && (slot.head != slot.tail || slot.delayed != kNone)) return false;
  }
  for (const auto& [id, letter] : keys.dead) {
    if (letter.kind == JobKind::task && !take(letter.job, kNone)) return false;
    if (keys.table.jobs[letter.job].progress != Progress::begun) return false;
  }
  return queued == keys.queued && delayed == keys.delayed &&
         std::all_of(seen.begin(), seen.end(), [](bool is) { return is; });
}

bool workers_fit(const KeysState& keys, const FrameState& frame, const SessionTable& sessions) {
  if (keys.workers.ages >= kCountMax || keys.choice_round >= kCountMax) return false;
  std::vector<BytesView> ids;
  std::uint64_t last = 0;
  for (const WorkerIx ix : keys.workers.by_age) {
    const PoolWorker& worker = keys.workers[ix];
    const bool sound = !worker.id.empty() && worker.place.weight != 0 && worker.place.weight <= kWeightMax &&
                       worker.window != 0 && worker.window <= kWindowMax && worker.age > last &&
                       worker.age <= keys.workers.ages && (worker.draining || !worker.leaving) &&
                       worker.settle_stamp <= frame.stamps && sessions.find(worker.session) != nullptr;
    if (!sound) return false;
    last = worker.age;
    ids.push_back(worker.id);
  }
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) == ids.end();
}

bool fitness_fits(const KeysState& keys, const FrameState& frame) {
  return std::all_of(keys.workers.by_age.begin(), keys.workers.by_age.end(), [&](WorkerIx ix) {
    const PoolWorker& worker = keys.workers[ix];
    const WorkerFitness& fitness = worker.fitness;
    const bool timed = (fitness.unfit && !worker.draining) || !keys.queues[ix].tentative.empty();
    const bool paused = fitness.pause_ms >= kProbeMsMin && fitness.pause_ms <= kProbeMsMax;
    const bool windowed = fitness.window >= kStartsFirst && fitness.window <= kStartingMax;
    return windowed && fitness.failed.size() <= kUnfitAfter && fitness.stamp <= frame.stamps &&
           is_time(fitness.probe_at_ms) && (fitness.due_ms != 0) == timed &&
           (fitness.unfit ? paused : fitness.pause_ms == 0) &&
           (fitness.probe == kNone || (fitness.unfit && fitness.probe < keys.table.slots.end())) &&
           (worker.successor == kNone || !worker.draining);
  });
}

// Served keys are stored twice: by worker and by key.
bool servers_fit(const KeysState& keys) {
  std::size_t pairs = 0;
  for (const WorkerIx ix : keys.workers.by_age) {
    const std::vector<Bytes>& serves = keys.workers[ix].serves;
    if (std::adjacent_find(serves.begin(), serves.end(), std::greater_equal<>()) != serves.end()) return false;
    for (const Bytes& key : serves) {
      const auto found = keys.servers.find(key);
      if (found == keys.servers.end() || std::count(found->second.begin(), found->second.end(), ix) != 1) return false;
    }
    pairs += serves.size();
  }
  for (const auto& [key, workers] : keys.servers) pairs -= workers.size();
  return pairs == 0;
}

// No worker holds, or is to hold, what it does not take.
bool takes_fit(const KeysState& keys, SlotId slot, WorkerIx ix) {
  if (ix == kNone || MUTANT(placement_ignores_takes)) return true;
  return keys.workers[ix].takes.has(keys.table.slots[slot].kind, keys.types.name(keys.table.head_type(slot)));
}

bool holders_fit(const KeysState& keys, const FrameState& frame) {
  const auto worker_ok = [&](WorkerIx ix) { return ix == kNone || (ix < keys.workers.end() && keys.workers[ix].live); };
  std::vector<PoolWorker> counted(keys.workers.end());
  std::vector<BytesView> names;
  for (SlotId id = 0; id < keys.table.slots.end(); ++id) {
    const Slot& slot = keys.table.slots[id];
    if (!slot.live) continue;
    names.push_back(slot.key);
    const Placed& placed = keys.table.placed[id];
    const bool held = placed.holder != kNone;
    if (!worker_ok(placed.target) || !worker_ok(placed.holder) || held != is_held(slot.state)) return false;
    if ((slot.state == JobState::idle) != (slot.head == kNone)) return false;
    const bool of_residents = slot.state == JobState::starting || slot.state == JobState::dead ||
                              slot.state == JobState::quarantined || slot.state == JobState::moving;
    if (slot.kind == JobKind::task && of_residents) return false;
    if (slot.epoch > frame.epoch || slot.stamp > frame.stamps || slot.since_ms < 0 || slot.since_ms > frame.log_time_ms)
      return false;
    if (slot.state == JobState::moving && placed.target != kNone) ++counted[placed.target].arriving;
    if (!takes_fit(keys, id, placed.target) || !takes_fit(keys, id, placed.holder)) return false;
    if (!held) continue;
    if (keys.table.jobs[slot.head].progress < Progress::granted) return false;
    PoolWorker& worker = counted[placed.holder];
    ++worker.keys_held;
    worker.tasks_held += slot.kind == JobKind::task ? 1 : 0;
    worker.starting += slot.state == JobState::starting ? 1 : 0;
    worker.moving += slot.state == JobState::moving ? 1 : 0;
  }
  std::sort(names.begin(), names.end());
  if (std::adjacent_find(names.begin(), names.end()) != names.end()) return false;
  return std::all_of(keys.workers.by_age.begin(), keys.workers.by_age.end(), [&](WorkerIx ix) {
    const PoolWorker& worker = keys.workers[ix];
    return worker.keys_held == counted[ix].keys_held && worker.tasks_held == counted[ix].tasks_held &&
           worker.starting == counted[ix].starting && worker.moving == counted[ix].moving &&
           worker.arriving == counted[ix].arriving;
  });
}

// The timers are exactly those of the keys and the delayed tasks.
bool timers_fit(const KeysState& keys, const FrameState& frame) {
  MachineTimers expected;
  std::size_t count = 0;
  for (SlotId id = 0; id < keys.table.slots.end(); ++id) {
    const Slot& slot = keys.table.slots[id];
    if (!slot.live) continue;
    const bool timed = slot.state == JobState::starting || slot.state == JobState::waiting;
    if (timed != (slot.due_ms != 0)) return false;
    if (timed) {
      const TimerKind kind = slot.state == JobState::starting ? TimerKind::start_timeout : TimerKind::retry;
      expected.insert({slot.due_ms, slot.stamp, kind, id});
      ++count;
    }
    for (JobId job = slot.delayed; job != kNone; job = keys.table.jobs[job].next) {
      expected.insert({keys.table.jobs[job].due_ms, keys.table.jobs[job].stamp, TimerKind::delay, job});
      ++count;
    }
  }
  const auto expect = [&](std::int64_t due_ms, std::uint64_t stamp, TimerKind kind, WorkerIx ix) {
    if (due_ms == 0) return;
    expected.insert({due_ms, stamp, kind, ix});
    ++count;
  };
  for (const WorkerIx ix : keys.workers.by_age) {
    const PoolWorker& worker = keys.workers[ix];
    expect(worker.fitness.due_ms, worker.fitness.stamp, TimerKind::fitness, ix);
    expect(worker.settle_due_ms, worker.settle_stamp, TimerKind::settle, ix);
  }
  return expected.size() == count && std::equal(expected.begin(), expected.end(), frame.timers.begin(),
                                                frame.timers.end(), [](const MachineTimer& a, const MachineTimer& b) {
                                                  return a.due_ms == b.due_ms && a.stamp == b.stamp &&
                                                         a.kind == b.kind && a.id == b.id && a.due_ms > 0 &&
                                                         a.due_ms <= kTimeMsMax;
                                                });
}

// A dead resident job and its letter refer to each other.
bool dead_fit(const KeysState& keys) {
  if (!keys.dead.empty() && keys.dead.rbegin()->first >= kCountMax) return false;
  std::size_t letters = 0;
  for (const auto& [id, letter] : keys.dead) {
    if (letter.kind == JobKind::task) continue;
    ++letters;
    const SlotId slot = keys.table.jobs[letter.job].slot;
    if (slot >= keys.table.slots.end() || keys.table.slots[slot].head != letter.job ||
        keys.table.slots[slot].key != letter.key ||
        keys.table.slots[slot].state != (letter.quarantined ? JobState::quarantined : JobState::dead)) {
      return false;
    }
  }
  // There are as many letters as dead keys, and no two letters have the same job.
  std::vector<JobId> jobs;
  jobs.reserve(keys.dead.size());
  for (const auto& [id, letter] : keys.dead) jobs.push_back(letter.job);
  std::sort(jobs.begin(), jobs.end());
  if (std::adjacent_find(jobs.begin(), jobs.end()) != jobs.end()) return false;
  for (SlotId id = 0; id < keys.table.slots.end(); ++id) {
    const Slot& slot = keys.table.slots[id];
    if (slot.live && (slot.state == JobState::dead || slot.state == JobState::quarantined)) --letters;
  }
  return letters == 0;
}

// Only parts of partitions are lent, and to somebody.
bool loans_fit(const KeysState& keys) {
  for (SlotId id = 0; id < keys.table.slots.end(); ++id) {
    const Slot& slot = keys.table.slots[id];
    if (!slot.live || !slot.lent) continue;
    if (keys.table.placed[id].target == kNone || !partition_of_key(slot.key)) return false;
  }
  return true;
}

}  // namespace

bool keys_are_sound(const KeysState& keys, const FrameState& frame, const SessionTable& sessions) {
  return lists_fit(keys, frame) && workers_fit(keys, frame, sessions) && fitness_fits(keys, frame) &&
         servers_fit(keys) && holders_fit(keys, frame) && timers_fit(keys, frame) && dead_fit(keys) &&
         loans_fit(keys) && keys.types.is_sound();
}

}  // namespace tenure
