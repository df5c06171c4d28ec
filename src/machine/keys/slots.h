#pragma once

// The steps that all rules of the keys part are made of: a key changes its state, a timer is set, a holder is asked to
// stop, a job is forgotten. Each keeps stamps, timers, sizes and a snapshot under way in order.

#include <cstdint>
#include <functional>

#include "machine/context.h"
#include "machine/keys/keys_state.h"

namespace tenure {

class Slots {
 public:
  Slots(KeysState& state, Context& context) : state_(state), context_(context) {}

  // A new stamp outdates whatever refers to the state before; the timer of that state goes with it.
  void set_state(SlotId slot, JobState state);
  // Who should hold the key. What follows from it is the caller's to do.
  void set_target(SlotId slot, WorkerIx target);
  void set_timer(SlotId slot, TimerKind kind, std::int64_t due_ms);
  void ask_stop(SlotId slot, StopReason reason);
  void release_job(JobId job);

  TenureRef tenure(SlotId slot) const;
  // Its holder was asked to stop it for good, or will be once it has started.
  bool is_stopping(SlotId slot) const;
  // A resident that has run for long has shown that it does not kill its holder.
  bool is_settled(SlotId slot) const;

  // The job's dispatcher hears what became of it.
  void tell_accepted(std::uint64_t ticket, bool in_log, SlotId slot);
  void tell_started(SlotId slot);
  void tell_stopped(const KeptJob& job, std::uint64_t epoch);
  void tell_failed(const KeptJob& job, std::uint64_t epoch, BytesView error);
  // So do those who have asked for it to stop.
  void tell_stoppers(KeptJob& job);

  // To be called before a slot, its place or its jobs change: a snapshot under way saves it first.
  void touch(SlotId slot) {
    if (save_ && state_.table.slots[slot].saved != snapshot_) save_now(slot);
  }
  // For a slot that is new: it is younger than any snapshot under way.
  void mark_saved(SlotId slot) { state_.table.slots[slot].saved = snapshot_; }
  // A snapshot begins: `save` is called once for each slot that changes, and for none twice.
  void begin_snapshot(std::function<void(SlotId)> save);
  void save_now(SlotId slot);
  void end_snapshot() { save_ = nullptr; }
  // After a restore no slot has been saved yet.
  void forget_snapshots() { snapshot_ = 0; }

 private:
  void count_arriving(SlotId slot, int change);

  KeysState& state_;
  Context& context_;
  std::function<void(SlotId)> save_;  // set while a snapshot is under way
  std::uint32_t snapshot_ = 0;        // counts snapshots, this process's own
};

}  // namespace tenure
