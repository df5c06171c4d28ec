#pragma once

// Which job brought its holder's process down. A dying process can leave evidence: the tenures whose handlers crashed
// it. Only these are blamed. A death without evidence (SIGKILL, out of memory, a lost host) blames nobody, with one
// exception: a job that was the only one in its session, several times in a row. A job that has been blamed too often
// is quarantined.

#include <cstdint>
#include <optional>
#include <vector>

#include "machine/context.h"
#include "machine/keys/keys_state.h"
#include "machine/sessions/sessions.h"

namespace tenure {

// How a process died, for the jobs that it ran.
struct Death {
  std::vector<std::uint64_t> culprits;  // epochs, sorted
  BytesView evidence;
  bool alone = false;  // without evidence, and its session held one key only
};

class Blame {
 public:
  Blame(KeysState& state, Context& context) : state_(state), context_(context) {}

  // While the session's workers still hold what they held.
  Death death_of(const EndedSession& ended) const;
  // Counts the death against the job that is held, if it is to blame. The reason, once it has to be quarantined.
  std::optional<Bytes> judge(SlotId slot, const Death& death);
  // The job is given another chance.
  static void acquit(KeptJob& job);

 private:
  std::optional<Bytes> count_crash(SlotId slot, BytesView evidence);
  std::optional<Bytes> count_lonely_death(SlotId slot);
  bool enough(std::uint32_t deaths) const;
  std::int64_t ran_ms(SlotId slot) const;

  KeysState& state_;
  Context& context_;
};

}  // namespace tenure
