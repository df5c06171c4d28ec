#pragma once

// Everything that a part of the machine can reach while an entry is applied: the entry's position and times, the pool's
// options, counters, timers, the digest, the effects, the sessions, and the answers to dispatchers. Parts reach each
// other only through it.

#include <cstdint>

#include "base/bytes.h"
#include "base/mutant.h"
#include "machine/effects.h"
#include "machine/frame_state.h"
#include "machine/machine_stats.h"
#include "machine/rules.h"
#include "machine/sessions/session_table.h"

namespace tenure {

class Answers;
class Keys;

class Context {
 public:
  // `speaks`: the newest version that this machine can apply.
  Context(std::uint32_t speaks, FrameState& frame, const SessionTable& sessions, Answers& answers, Keys& keys)
      : speaks_(speaks), frame_(frame), sessions_(sessions), answers_(answers), keys_(keys) {}

  // The entry.
  std::uint64_t position() const { return frame_.position; }
  std::uint64_t origin() const { return frame_.origin; }
  std::int64_t engine_ms() const { return frame_.engine_ms; }
  std::int64_t log_time_ms() const { return frame_.log_time_ms; }
  At at() const { return {frame_.position, frame_.engine_ms}; }
  // The engine's time in microseconds, bounded so that epochs that start with it can still grow.
  std::uint64_t engine_us() const;

  const PoolConfig& config() const { return frame_.config; }
  void set_ring(const Ring& ring) { frame_.config.ring = ring; }
  bool shutting_down() const { return frame_.shutting_down; }
  // True if the pool has switched to a version that has the rule.
  bool rule(Rule rule) const { return (MUTANT(rule_ahead_of_version) ? speaks_ : frame_.version) >= version_of(rule); }

  // Nobody has joined the pool yet, and the node that does may bring the rule.
  bool may_come(Rule rule) const { return sessions_.ages == 0 && speaks_ >= version_of(rule); }

  // Epochs and stamps are never repeated.
  std::uint64_t epoch_last() const { return frame_.epoch; }
  void raise_epoch(std::uint64_t floor);
  std::uint64_t next_epoch(std::uint64_t session);
  // A deliberate bug, for the simulator.
  void forget_epochs() {
    frame_.epoch = 0;
    epochs_forgotten_ = true;
  }
  std::uint64_t next_stamp() { return ++frame_.stamps; }

  MachineTimers& timers() { return frame_.timers; }
  const SessionTable& sessions() const { return sessions_; }
  Answers& answers() { return answers_; }
  Keys& keys() { return keys_; }

  // Mixes a decision into the digest.
  void note(std::uint64_t word) { frame_.digest = hash_mix(frame_.digest, word); }
  // The state does not allow the record, so it changes nothing.
  void refuse_record() { ++stats.records_refused; }
  Effects& effects() { return *effects_; }

  MachineStats stats;

 private:
  friend class Machine;

  const std::uint32_t speaks_;
  FrameState& frame_;
  const SessionTable& sessions_;
  Answers& answers_;
  Keys& keys_;
  bool epochs_forgotten_ = false;
  Effects* effects_ = nullptr;  // set while an entry is applied
};

}  // namespace tenure
