// Whether a state that was read from bytes could have come about by applying records. A snapshot may be damaged, or
// made by somebody else: what passes here must never break an assertion later.

#include <algorithm>

#include "machine/machine.h"

namespace tenure {
namespace {

// Counters and times that leave room to go on.
constexpr std::uint64_t kCountMax = 1ULL << 62;
constexpr std::int64_t kTimeMsMax = 1LL << 60;

bool is_time(std::int64_t ms) { return ms >= 0 && ms <= kTimeMsMax; }

bool is_span(std::int64_t ms) { return ms > 0 && ms <= static_cast<std::int64_t>(kDelayMsMax); }

bool is_held(JobState state) {
  return state == JobState::starting || state == JobState::running || state == JobState::stopping ||
         state == JobState::moving;
}

}  // namespace

bool Machine::consistent() const {
  return numbers_fit() && lists_fit() && members_fit() && served_fit() && holders_fit() && timers_fit() && dead_fit();
}

bool Machine::numbers_fit() const {
  const bool counts =
      std::max({epoch_, stamps_, sessions_.ages, workers_.ages, answer_orders_, senders_.orders()}) < kCountMax;
  const bool times = is_time(engine_ms_) && is_time(log_time_ms_) && log_time_ms_ <= engine_ms_;
  const bool spans = is_span(config_.pending_job_ttl_ms) && is_span(config_.worker_shutdown_ttl_ms) &&
                     is_span(config_.backoff_base_ms) && is_span(config_.backoff_cap_ms);
  const bool limits = config_.max_queued_jobs != 0 && config_.max_attempts != 0 && config_.max_attempts <= UINT16_MAX;
  const bool shard = config_.shard.index < config_.shard.count && config_.shard.count <= kShardsMax;
  const bool answers =
      answers_.size() <= kUnansweredMax && (answer_order_.empty() || answer_order_.rbegin()->first <= answer_orders_);
  const bool dead = dead_.empty() || dead_.rbegin()->first < kCountMax;
  const bool senders = std::all_of(senders_.all().begin(), senders_.all().end(), [&](const auto& entry) {
    return entry.second.order <= senders_.orders() && entry.second.used_ms >= 0 && entry.second.used_ms <= log_time_ms_;
  });
  return counts && times && spans && limits && shard && answers && dead && senders &&
         !(gone_ && !sessions_.all.empty());
}

// Every job lies in exactly one list of one key, or is a dead task.
bool Machine::lists_fit() const {
  std::vector<bool> seen(table_.jobs.end());
  std::uint64_t fresh = 0;
  for (const JobId id : table_.jobs.free_list()) {
    if (table_.jobs[id].ticket != 0) return false;
    seen[id] = true;
  }
  const auto take = [&](JobId id, SlotId slot) {
    if (id >= seen.size() || seen[id]) return false;
    const KeptJob& job = table_.jobs[id];
    if (job.slot != slot || job.ticket == 0 || job.stamp > stamps_) return false;
    seen[id] = true;
    fresh += job.fresh ? 1 : 0;
    return true;
  };
  const auto walk = [&](JobId first, SlotId slot, JobId* last) {
    for (JobId id = first; id != kNone; id = table_.jobs[id].next) {
      if (!take(id, slot)) return false;
      *last = id;
    }
    return true;
  };
  for (const SlotId id : table_.slots.free_list()) {
    if (table_.slots[id].live) return false;
  }
  for (SlotId id = 0; id < table_.slots.end(); ++id) {
    const Slot& slot = table_.slots[id];
    if (!slot.live) continue;
    JobId last = kNone;
    JobId delayed_last = kNone;
    if (!walk(slot.head, id, &last) || last != slot.tail || !walk(slot.delayed, id, &delayed_last)) return false;
    if (slot.head == kNone && slot.delayed == kNone) return false;
    // A resident job is a list of one.
    if (slot.kind == JobKind::resident && (slot.head != slot.tail || slot.delayed != kNone)) return false;
  }
  for (const auto& [id, letter] : dead_) {
    if (letter.kind == JobKind::task && (!take(letter.job, kNone) || table_.jobs[letter.job].fresh)) return false;
  }
  return fresh == queued_ && std::all_of(seen.begin(), seen.end(), [](bool is) { return is; });
}

bool Machine::members_fit() const {
  if (sessions_.all.size() > kSessionsMax) return false;
  std::vector<std::uint64_t> ages;
  for (const auto& [id, session] : sessions_.all) {
    if (id == 0 || session.last_beat > position_ || session.age > sessions_.ages) return false;
    ages.push_back(session.age);
  }
  std::vector<BytesView> ids;
  std::uint64_t last = 0;
  for (const WorkerIx ix : workers_.by_age) {
    const PoolWorker& worker = workers_[ix];
    const bool sound = !worker.id.empty() && worker.place.weight != 0 && worker.place.weight <= kWeightMax &&
                       worker.window != 0 && worker.window <= kWindowMax && worker.age > last &&
                       worker.age <= workers_.ages;
    if (!sound) return false;
    last = worker.age;
    ids.push_back(worker.id);
  }
  std::sort(ages.begin(), ages.end());
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ages.begin(), ages.end()) == ages.end() &&
         std::adjacent_find(ids.begin(), ids.end()) == ids.end();
}

// Who serves a key is kept twice: by worker and by key.
bool Machine::served_fit() const {
  std::size_t pairs = 0;
  for (const WorkerIx ix : workers_.by_age) {
    const std::vector<Bytes>& serves = workers_[ix].serves;
    if (std::adjacent_find(serves.begin(), serves.end(), std::greater_equal<>()) != serves.end()) return false;
    for (const Bytes& key : serves) {
      const auto found = served_.find(key);
      if (found == served_.end() || std::count(found->second.begin(), found->second.end(), ix) != 1) return false;
    }
    pairs += serves.size();
  }
  for (const auto& [key, workers] : served_) pairs -= workers.size();
  return pairs == 0;
}

bool Machine::holders_fit() const {
  const auto worker_ok = [&](WorkerIx ix) { return ix == kNone || (ix < workers_.end() && workers_[ix].live); };
  std::vector<PoolWorker> counted(workers_.end());
  std::vector<BytesView> keys;
  for (SlotId id = 0; id < table_.slots.end(); ++id) {
    const Slot& slot = table_.slots[id];
    if (!slot.live) continue;
    keys.push_back(slot.key);
    const Placed& placed = table_.placed[id];
    const bool held = placed.holder != kNone;
    if (!worker_ok(placed.target) || !worker_ok(placed.holder) || held != is_held(slot.state)) return false;
    if ((slot.state == JobState::idle) != (slot.head == kNone) || (slot.stop_wanted && !held)) return false;
    const bool of_residents = slot.state == JobState::starting || slot.state == JobState::dead ||
                              slot.state == JobState::quarantined || slot.state == JobState::moving;
    if (slot.kind == JobKind::task && of_residents) return false;
    if (slot.epoch > epoch_ || slot.stamp > stamps_ || slot.since_ms < 0 || slot.since_ms > log_time_ms_) return false;
    if (slot.solo && !held) return false;
    if (!held) continue;
    if (table_.jobs[slot.head].fresh) return false;
    PoolWorker& worker = counted[placed.holder];
    ++worker.keys_held;
    worker.tasks_held += slot.kind == JobKind::task ? 1 : 0;
    worker.starting += slot.state == JobState::starting ? 1 : 0;
    worker.moving += slot.state == JobState::moving ? 1 : 0;
    worker.on_trial += slot.solo ? 1 : 0;
  }
  std::sort(keys.begin(), keys.end());
  if (std::adjacent_find(keys.begin(), keys.end()) != keys.end()) return false;
  return std::all_of(workers_.by_age.begin(), workers_.by_age.end(), [&](WorkerIx ix) {
    const PoolWorker& worker = workers_[ix];
    return worker.keys_held == counted[ix].keys_held && worker.tasks_held == counted[ix].tasks_held &&
           worker.starting == counted[ix].starting && worker.moving == counted[ix].moving &&
           worker.on_trial == counted[ix].on_trial;
  });
}

// The timers are exactly those that the keys and the delayed tasks have.
bool Machine::timers_fit() const {
  MachineTimers expected;
  std::size_t count = 0;
  for (SlotId id = 0; id < table_.slots.end(); ++id) {
    const Slot& slot = table_.slots[id];
    if (!slot.live) continue;
    const bool solo = slot.state == JobState::running && slot.kind == JobKind::resident && slot.solo;
    const bool timed = slot.state == JobState::starting || slot.state == JobState::waiting || solo;
    if (timed != (slot.due_ms != 0)) return false;
    if (timed) {
      const TimerKind kind = slot.state == JobState::starting  ? TimerKind::start_timeout
                             : slot.state == JobState::waiting ? TimerKind::retry
                                                               : TimerKind::solo;
      expected.insert({slot.due_ms, slot.stamp, kind, id});
      ++count;
    }
    for (JobId job = slot.delayed; job != kNone; job = table_.jobs[job].next) {
      expected.insert({table_.jobs[job].due_ms, table_.jobs[job].stamp, TimerKind::delay, job});
      ++count;
    }
  }
  return expected.size() == count && std::equal(expected.begin(), expected.end(), timers_.begin(), timers_.end(),
                                                [](const MachineTimer& a, const MachineTimer& b) {
                                                  return a.due_ms == b.due_ms && a.stamp == b.stamp &&
                                                         a.kind == b.kind && a.id == b.id && a.due_ms > 0 &&
                                                         a.due_ms <= kTimeMsMax;
                                                });
}

// A dead resident job and its letter name each other.
bool Machine::dead_fit() const {
  std::size_t letters = 0;
  for (const auto& [id, letter] : dead_) {
    if (letter.kind == JobKind::task) continue;
    ++letters;
    const SlotId slot = table_.jobs[letter.job].slot;
    if (slot >= table_.slots.end() || table_.slots[slot].head != letter.job || table_.slots[slot].key != letter.key ||
        table_.slots[slot].state != (letter.quarantined ? JobState::quarantined : JobState::dead)) {
      return false;
    }
  }
  // As many letters as dead keys, and no two letters of one job.
  std::vector<JobId> jobs;
  jobs.reserve(dead_.size());
  for (const auto& [id, letter] : dead_) jobs.push_back(letter.job);
  std::sort(jobs.begin(), jobs.end());
  if (std::adjacent_find(jobs.begin(), jobs.end()) != jobs.end()) return false;
  for (SlotId id = 0; id < table_.slots.end(); ++id) {
    const Slot& slot = table_.slots[id];
    if (slot.live && (slot.state == JobState::dead || slot.state == JobState::quarantined)) --letters;
  }
  return letters == 0;
}

}  // namespace tenure
