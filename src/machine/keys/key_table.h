#pragma once

// The keys of a pool and the jobs queued on each. A key has a slot while it has a job. The jobs of a key form a list
// whose head is the one that is, or will be, held. A resident job is a list of one.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "machine/effects.h"
#include "machine/keys/key_index.h"
#include "machine/keys/type_table.h"
#include "machine/slab.h"

namespace tenure {

using SlotId = std::uint32_t;
using JobId = std::uint32_t;
using WorkerIx = std::uint32_t;

// The states of a key's head job:
//
//            ┌──────────────── retry, requeue, delay ───────────────┐
//            ▼                                                      │
//   idle ▶ queued ─grant▶ starting ─Started▶ running ─Failed▶ waiting | dead
//            ▲                │                 │ │
//            │                └──start timed────┤ └─stop▶ stopping ─Released▶ (gone)
//            └──Released────── moving ◀─move────┘
//
// The end of the holder's session moves starting, running and moving back to queued (or to quarantined), and ends a
// stopping job. A task is running as soon as it is granted. The states are public: tenure/kinds.hpp.

struct Message {
  std::uint64_t number;
  Bytes text;
  std::uint64_t ticket;
  bool answer_in_log;
};

// Data that few jobs have, stored separately so that a million plain jobs stay small.
struct JobExtra {
  bool has_checkpoint = false;
  Bytes checkpoint;
  std::deque<Message> messages;   // not yet handled by the holder
  std::size_t message_bytes = 0;  // of messages
  std::uint64_t last_message = 0;
  std::vector<std::uint64_t> stop_tickets;  // get an answer when it has stopped
  std::vector<std::uint64_t> stop_says;     // the same, with an answer in the log
  std::uint32_t dropped = 0;                // tasks of the key that were dropped by the stops that wait for an answer
  std::vector<std::uint64_t> failed_on;     // the ages of workers on which it failed to start since it last ran
  Bytes error;                              // of its last failed attempt, until it has run again
};

// How far a job has come on its way to a handler.
enum class Progress : std::uint8_t {
  delayed,  // its delay is not over: counts against the bound of delayed jobs
  queued,   // never held: counts against the queue bound
  granted,  // was held, but no holder has said that its handler has begun: counts too
  begun,
};

struct KeptJob {
  Bytes payload;
  std::uint64_t ticket = 0;
  std::uint64_t stamp = 0;  // with due_ms, identifies its delay timer
  std::int64_t due_ms = 0;
  std::unique_ptr<JobExtra> extra;
  JobId next = kNone;
  JobId before = kNone;  // in the list of delayed tasks; unused in others
  SlotId slot = kNone;
  TypeId type = kNoType;
  std::uint16_t max_attempts = 0;
  std::uint16_t attempts = 0;       // failed attempts
  std::uint16_t crashes = 0;        // of its process, by evidence
  std::uint16_t lonely_deaths = 0;  // of holders that held nothing else, in a row
  Progress progress = Progress::queued;
  bool answer_in_log : 1 = false;
  bool ran : 1 = false;     // a resident that was started once
  bool steady : 1 = false;  // one whose start succeeded once (see Starts)

  JobExtra& extras() {
    if (!extra) extra = std::make_unique<JobExtra>();
    return *extra;
  }
};
static_assert(sizeof(void*) != 8 || sizeof(KeptJob) <= 88, "there may be millions of them");

// What the state keeps of a key's last past tenure. Without it, a key that was never held and a key whose past was
// dropped would look the same.
enum class Past : std::uint8_t { none, kept, forgotten };

constexpr std::uint16_t kNoPartition = UINT16_MAX;

struct Slot {
  Bytes key;
  std::uint64_t epoch = 0;      // of the current or last tenure
  std::uint64_t stamp = 0;      // of the current state; makes older queue items and timers void
  std::int64_t since_ms = 0;    // log time of the last change of state
  std::int64_t due_ms = 0;      // when its timer is due, if it has one
  std::int64_t started_ms = 0;  // the engine's time; zero if the current or last tenure did not start
  JobId head = kNone;
  JobId tail = kNone;
  JobId delayed = kNone;    // tasks that join the list later
  std::uint32_t saved = 0;  // the last snapshot that has it
  JobState state = JobState::idle;
  JobKind kind = JobKind::resident;
  bool live = false;
  Past past = Past::none;
  std::uint16_t partition = kNoPartition;  // derived
  bool diverted = false;  // its target is not what the assignment gives: it failed to start there, or is a probe
  bool lent = false;      // a part of a partition, brought to an idle worker (see Surge)
};

// The data that a change of membership reads for every key, packed so that a million are scanned in a few milliseconds.
struct Placed {
  std::uint64_t hash = 0;
  WorkerIx target = kNone;  // who should hold the key
  WorkerIx holder = kNone;  // who holds it
};

class KeyTable {
 public:
  Slab<Slot> slots;
  Slab<KeptJob> jobs;
  std::vector<Placed> placed;  // by SlotId; the hash of a free slot means nothing

  SlotId find(BytesView key, std::uint64_t hash) const {
    return index_.find(hash, [&](SlotId id) { return placed[id].hash == hash && slots[id].key == key; });
  }
  SlotId find(BytesView key) const { return find(key, hash_bytes(key)); }

  SlotId add(BytesView key, std::uint64_t hash) {
    const SlotId id = slots.add();
    if (id == placed.size()) placed.emplace_back();
    placed[id] = Placed{hash, kNone, kNone};
    slots[id].key.assign(key);
    slots[id].live = true;
    index_.insert(hash, id);
    return id;
  }

  void remove(SlotId id) {
    index_.erase(placed[id].hash, id);
    placed[id] = Placed{};
    slots.remove(id);
  }

  // For restoring, after slots, placed and jobs were filled in and checked.
  void rebuild() {
    index_.clear();
    for (SlotId id = 0; id < slots.end(); ++id) {
      if (!slots[id].live) continue;
      index_.insert(placed[id].hash, id);
      JobId before = kNone;
      for (JobId job = slots[id].delayed; job != kNone; job = jobs[job].next) {
        jobs[job].before = before;
        before = job;
      }
    }
  }

  [[gnu::always_inline]] KeptJob& head(SlotId id) { return jobs[slots[id].head]; }
  // The type of the job that the key waits with, or is held for; none if all of its tasks are delayed.
  TypeId head_type(SlotId id) const { return slots[id].head == kNone ? kNoType : jobs[slots[id].head].type; }

  // For a job that was fetched itself. Fetches the start of a long payload.
  void prefetch_payload(JobId id) const {
    constexpr std::size_t kBytesMax = 256;
    const Bytes& payload = jobs[id].payload;
    fetch_ahead(payload.data(), std::min(payload.size(), kBytesMax));
  }

  // Calls `visit` for the job and those behind it in its list. They are scattered in memory like the keys, so later
  // ones are prefetched.
  template <class Visit>
  void visit_list(JobId first, Visit visit) const {
    JobId next = kNone;
    for (JobId job = first; job != kNone; job = next) {
      next = jobs[job].next;
      if (next != kNone) {
        prefetch_payload(next);
        if (jobs[next].next != kNone) jobs.prefetch(jobs[next].next);
      }
      visit(job);
    }
  }

  void push_back(SlotId id, JobId job) {
    Slot& slot = slots[id];
    jobs[job].next = kNone;
    if (slot.head == kNone) {
      slot.head = job;
    } else {
      jobs[slot.tail].next = job;
    }
    slot.tail = job;
  }

  // The order of delayed tasks does not matter: their timers have it.
  void push_delayed(SlotId id, JobId job) {
    Slot& slot = slots[id];
    jobs[job].before = kNone;
    jobs[job].next = slot.delayed;
    if (slot.delayed != kNone) jobs[slot.delayed].before = job;
    slot.delayed = job;
  }

  void take_delayed(SlotId id, JobId job) {
    const JobId before = jobs[job].before;
    const JobId next = jobs[job].next;
    if (before == kNone) {
      slots[id].delayed = next;
    } else {
      jobs[before].next = next;
    }
    if (next != kNone) jobs[next].before = before;
  }

  JobId pop_front(SlotId id) {
    Slot& slot = slots[id];
    const JobId job = slot.head;
    slot.head = jobs[job].next;
    if (slot.head == kNone) slot.tail = kNone;
    jobs[job].next = kNone;
    return job;
  }

  // The slots whose place is `wanted`, in order. Free slots have no target and no holder.
  template <class Wanted>
  std::vector<SlotId> select(Wanted wanted) const {
    std::vector<SlotId> found;
    for (SlotId id = 0; id < placed.size(); ++id) {
      if (wanted(placed[id])) found.push_back(id);
    }
    return found;
  }

  // Calls `visit` for each of the slots, in order. Slots and their head jobs are scattered over some hundred megabytes,
  // and waiting for each would take most of the time, so they are prefetched. `visit` may remove its own slot, but no
  // other.
  enum class Ahead : std::uint8_t { slots, slots_and_heads };
  template <class Visit>
  void visit_each(const std::vector<SlotId>& ids, Ahead ahead, Visit visit) {
    constexpr std::size_t kSlotsAhead = 16;
    constexpr std::size_t kJobsAhead = 8;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i + kSlotsAhead < ids.size()) slots.prefetch(ids[i + kSlotsAhead]);
      if (ahead == Ahead::slots_and_heads && i + kJobsAhead < ids.size()) {
        const JobId head = slots[ids[i + kJobsAhead]].head;
        if (head != kNone) jobs.prefetch(head);
      }
      visit(ids[i]);
    }
  }

 private:
  KeyIndex index_;
};

}  // namespace tenure
