#pragma once

// The basic steps of the keys part: change a key's state, set a timer, ask a holder to stop, forget a job. Each keeps
// stamps, timers, sizes and a snapshot in progress consistent.

#include <cstdint>
#include <functional>

#include "machine/context.h"
#include "machine/keys/keys_state.h"

namespace tenure {

class Slots {
 public:
  Slots(KeysState& state, Context& context) : state_(state), context_(context) {}

  // A new stamp makes all references to the old state void, and removes its timer.
  void set_state(SlotId slot, JobState state);
  // Who should hold the key. What follows from it is the caller's to do.
  void set_target(SlotId slot, WorkerIx target);
  void set_timer(SlotId slot, TimerKind kind, std::int64_t due_ms);
  void ask_stop(SlotId slot, StopReason reason);
  void release_job(JobId job);
  // The bounds count a job by its progress.
  void set_progress(KeptJob& job, Progress progress);

  TenureRef tenure(SlotId slot) const;
  // Its holder was asked to stop it for good.
  bool is_stopping(SlotId slot) const;

  // Reports the job's new state to its dispatcher.
  void tell_accepted(std::uint64_t ticket, bool in_log, SlotId slot);
  void tell_started(SlotId slot);
  void tell_stopped(const KeptJob& job, std::uint64_t epoch);
  void tell_failed(const KeptJob& job, std::uint64_t epoch, BytesView error);
  // Reports the stop to all callers that requested it.
  void tell_stoppers(KeptJob& job) {
    if (job.extra) tell_all_stoppers(*job.extra);
  }
  // The answer to a stop, with the number of tasks that it has dropped as its text, or none.
  void tell_stopper(std::uint64_t ticket, bool in_log, std::uint32_t dropped);
  // The job is over: the senders of messages that were not handled hear of it.
  void tell_unhandled(KeptJob& job);

  // Call it before a slot, its place or its jobs change. A snapshot in progress saves the slot first.
  void touch(SlotId slot) {
    if (save_ && state_.table.slots[slot].saved != snapshot_) save_now(slot);
  }
  // For a new slot: it is newer than any snapshot in progress.
  void mark_saved(SlotId slot) { state_.table.slots[slot].saved = snapshot_; }
  // A snapshot begins. `save` is called once for each slot that changes.
  void begin_snapshot(std::function<void(SlotId)> save);
  void save_now(SlotId slot);
  void end_snapshot() { save_ = nullptr; }
  // After a restore no slot has been saved yet.
  void forget_snapshots() { snapshot_ = 0; }

 private:
  [[gnu::cold]] void drop_timer(SlotId slot);
  void tell_all_stoppers(JobExtra& extra);
  void count_arriving(SlotId slot, int change);

  KeysState& state_;
  Context& context_;
  std::function<void(SlotId)> save_;  // set while a snapshot is in progress
  std::uint32_t snapshot_ = 0;        // counts the snapshots of this process
};

}  // namespace tenure
