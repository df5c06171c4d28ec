#pragma once

// What somebody has to do for the whole pool, and the eldest member does: five duties, of which each is a class of its
// own. Whatever the eldest does twice, or two members do at once, the machine takes once.

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
  Steward(Loop& loop, Appender& appender, const Observer& observer, ChooseWorker choose);
  Steward(const Steward&) = delete;
  Steward& operator=(const Steward&) = delete;

  void listen_to(EffectsTee& tee);
  // To be called after each applied entry. `rank`: how many members are elder than this node's session; nothing if this
  // node is no member.
  void look(const Machine& machine, std::optional<std::size_t> rank, Instant applied_at);
  // Another state, or another session: what was said before may have been lost.
  void reset();

 private:
  void stand_down();

  LogTimeDuty log_time_;
  AnswerDuty answers_;
  ListingDuty listings_;
  ChoiceDuty choices_;
  VersionDuty version_;
  const std::array<EldestDuty*, 4> eldest_duties_;
};

}  // namespace tenure
