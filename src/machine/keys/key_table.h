#pragma once

// The keys of a pool and the jobs queued on each. A key has a slot as long as it has a job; the jobs of a key form
// a list whose head is the one that is, or will be, held. A resident job is a list of one.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "machine/effects.h"
#include "machine/keys/key_index.h"
#include "machine/slab.h"

namespace tenure {

using SlotId = std::uint32_t;
using JobId = std::uint32_t;
using WorkerIx = std::uint32_t;

// Of the head job of a key:
//
//            ┌──────────────── retry, requeue, delay ───────────────┐
//            ▼                                                      │
//   idle ▶ queued ─grant▶ starting ─Started▶ running ─Failed▶ waiting | dead
//            ▲                │                 │ │
//            │                └──start timed────┤ └─stop▶ stopping ─Released▶ (gone)
//            └──Released────── moving ◀─move────┘
//
// The end of the holder's session takes starting, running and moving back to queued (or to quarantined), and
// stopping to gone. A task is running as soon as it is granted. The states themselves are public: tenure/kinds.hpp.

struct Message {
  std::uint64_t number;
  Bytes text;
};

// What few jobs have, kept apart so that a million plain ones stay small.
struct JobExtra {
  bool has_checkpoint = false;
  Bytes checkpoint;
  std::deque<Message> messages;   // not yet handled by the holder
  std::size_t message_bytes = 0;  // of messages
  std::uint64_t last_message = 0;
  std::vector<std::uint64_t> stop_tickets;  // to be told when it has stopped
  std::vector<std::uint64_t> stop_says;     // the same, to be said in the log
  std::uint32_t together_max = 0;           // on trial with so many in all; zero: with any number
  std::vector<std::uint64_t> failed_on;     // the ages of workers on which it failed to start since it last ran
  Bytes error;                              // of its last failed start, until it has run again
};

struct KeptJob {
  Bytes payload;
  std::uint64_t ticket = 0;
  std::uint64_t stamp = 0;  // with due_ms, names its delay timer
  std::int64_t due_ms = 0;
  std::unique_ptr<JobExtra> extra;
  JobId next = kNone;
  JobId before = kNone;  // in the list of delayed tasks; of no meaning in others
  SlotId slot = kNone;
  std::uint32_t max_attempts = 0;
  std::uint16_t attempts = 0;  // that failed
  std::uint16_t crashes = 0;   // of holders
  std::uint16_t fuse_ms = 0;   // how long it had run, at most, when they crashed
  bool answer_in_log : 1 = false;
  bool fresh : 1 = true;    // never held: counts against the queue bound
  bool ran : 1 = false;     // a resident that was started once
  bool steady : 1 = false;  // one whose start succeeded once (see Starts)

  JobExtra& extras() {
    if (!extra) extra = std::make_unique<JobExtra>();
    return *extra;
  }
};

// What the state keeps of a key's last tenure that ended. Without a word on it nobody could tell a key that was never
// held before from one whose past was forgotten.
enum class Past : std::uint8_t { none, kept, forgotten };

struct Slot {
  Bytes key;
  std::uint64_t epoch = 0;      // of the present or last tenure
  std::uint64_t stamp = 0;      // of the present state: outdates queue items and timers of earlier ones
  std::int64_t since_ms = 0;    // log time of the last change of state
  std::int64_t due_ms = 0;      // of its timer, if it has one
  std::int64_t started_ms = 0;  // the engine's time; zero if the present or last tenure did not start
  JobId head = kNone;
  JobId tail = kNone;
  JobId delayed = kNone;    // tasks that join the list later
  std::uint32_t saved = 0;  // the snapshot that has it already
  JobState state = JobState::idle;
  JobKind kind = JobKind::resident;
  bool live = false;
  bool stop_wanted = false;  // stop as soon as it has started
  bool solo = false;         // on its last chance, alone in its session or with few others
  bool settled = false;      // had run for long when it was asked to stop
  Past past = Past::none;
  bool diverted = false;  // its target is not what the assignment gives: it failed to start there, or is a probe
};

// What a change of membership looks at for every key, packed so that a million are scanned in a few milliseconds.
struct Placed {
  std::uint64_t hash = 0;
  WorkerIx target = kNone;  // who should hold the key
  WorkerIx holder = kNone;  // who does
};

class KeyTable {
 public:
  Slab<Slot> slots;
  Slab<KeptJob> jobs;
  std::vector<Placed> placed;  // by SlotId; a free slot's hash means nothing

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

  // For restoring, once slots, placed and jobs are filled in and found sound.
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

  KeptJob& head(SlotId id) { return jobs[slots[id].head]; }

  // Of a job that has been fetched itself; of a long one, its beginning.
  void prefetch_payload(JobId id) const {
    constexpr std::size_t kBytesMax = 256;
    const Bytes& payload = jobs[id].payload;
    fetch_ahead(payload.data(), std::min(payload.size(), kBytesMax));
  }

  // Calls `visit` for the job and those behind it in its list. They lie scattered like the keys: the next but one is
  // fetched, and what the next one holds.
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

  // The order of the delayed tasks means nothing: their timers have it.
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

  // Calls `visit` for each of the slots, in order. Slots lie scattered over a hundred megabytes, and their head jobs
  // over another; waiting for each in turn would be most of the time, so that they are fetched ahead. `visit` may
  // remove its own slot, and no other.
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
