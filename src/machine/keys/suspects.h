#pragma once

// Decides which jobs may have killed their holder. A job that was young when its holder died is a suspect. After too
// many deaths it is on its last chance: it runs as the only suspect of its session, so the next death shows whether it
// was this job. If it kills that holder too, it is quarantined.

#include <cstdint>

#include "machine/context.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/slots.h"

namespace tenure {

class Suspects {
 public:
  Suspects(KeysState& state, Context& context, const Slots& slots) : state_(state), context_(context), slots_(slots) {}

  // The job has killed all but one of the holders that it may kill.
  bool last_chance(const KeptJob& job) const;
  // How many jobs on their last chance a session runs now. A process takes all its workers with it, so the workers of
  // one session count together.
  std::uint32_t on_trial(std::uint64_t session) const;
  // Counts a death of the holder against the job, if the job may have caused it. True if there were too many.
  // `on_trial`: the number at the time of the death.
  bool blame(SlotId slot, std::uint32_t on_trial);
  static void acquit(KeptJob& job);
  // How long a job on its last chance must run before it counts as harmless.
  static std::int64_t trial_ms(const KeptJob& job);

 private:
  KeysState& state_;
  Context& context_;
  const Slots& slots_;
};

}  // namespace tenure
