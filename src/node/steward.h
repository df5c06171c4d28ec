#pragma once

// What somebody has to do for the whole pool, and the eldest node does: let log time pass when a timer is due, say
// in the log what dispatchers that keep no state wait for, and what the state says to those who ask; choose by the
// user's own function, switch to new rules once all speak them. Whatever it does twice, or two nodes do at once, the
// machine takes once.

#include <cstdint>
#include <functional>
#include <string>
#include <tenure/assignment.hpp>
#include <vector>

#include "base/loop.h"
#include "machine/machine.h"
#include "node/appender.h"
#include "node/observer.h"

namespace tenure {

// Belongs to the node's loop.
class Steward {
 public:
  Steward(Loop& loop, Appender& appender, const Observer& observer, ChooseWorker choose);

  // To be called after each applied entry, with this node's session (zero: none).
  void look(const Machine& machine, std::uint64_t session, Instant applied_at);
  // Under chosen assignment, from the machine's effects.
  void choice_due(BytesView key) { keys_due_.emplace_back(key); }
  void choices_due() { all_due_ = true; }
  // In the entry that is being applied.
  void asked(const v1::Ask& ask);
  // Another state, or another session: what was said before may have been lost.
  void reset();

 private:
  void arm_tick(const Machine& machine, std::size_t rank, Instant applied_at);
  void say_answers(const Machine& machine);
  void tell_askers(const Machine& machine);
  void choose(const Machine& machine);
  void choose_one(const JobInfo& job, const std::vector<WorkerView>& workers);
  void switch_version(const Machine& machine);

  Loop& loop_;
  Appender& appender_;
  const Observer& observer_;
  ChooseWorker choose_;
  Timer tick_;
  std::uint64_t answered_ = 0;  // the order of the last answer said
  std::vector<Bytes> asked_;    // encoded
  std::vector<Bytes> keys_due_;
  bool all_due_ = false;
  std::uint32_t switching_to_ = 0;
};

}  // namespace tenure
