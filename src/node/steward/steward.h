#pragma once

// The tasks that the eldest member does for the whole pool: five duties, one class each. (The eldest member that has
// the user's function makes the choices.) If the eldest does something twice, or two members do it at once, the machine
// accepts it once.

#include <array>
#include <optional>

#include "base/loop.h"
#include "machine/effects_tee.h"
#include "node/keys/choice_duty.h"
#include "node/steward/answer_duty.h"
#include "node/steward/listing_duty.h"
#include "node/steward/log_time_duty.h"
#include "node/steward/version_duty.h"

namespace tenure {

// Belongs to the node's loop.
class Steward {
 public:
  Steward(Loop& loop, Appender& appender, const Observer& observer, ChooseWorker choose, NodeEvents& events);
  Steward(const Steward&) = delete;
  Steward& operator=(const Steward&) = delete;

  void listen_to(EffectsTee& tee);
  // Call it after each entry. `rank`: how many members are older than this node's session; nothing if this node is not
  // a member.
  void look(const Machine& machine, std::uint64_t session, std::optional<std::size_t> rank, Instant applied_at);
  // Another state, or another session: what was written before may be lost.
  void reset();

 private:
  void stand_down();

  LogTimeDuty log_time_;
  AnswerDuty answers_;
  ListingDuty listings_;
  ChoiceDuty choices_;
  VersionDuty version_;
  const std::array<EldestDuty*, 3> eldest_duties_;
};

}  // namespace tenure
