#pragma once

// The complete state of a machine, part by part. Machines that have applied the same entries have equal states. A
// snapshot contains all of it.

#include "machine/answers/answers.h"
#include "machine/frame_state.h"
#include "machine/keys/keys_state.h"
#include "machine/restoration_state.h"
#include "machine/sessions/session_table.h"
#include "machine/sources/source_state.h"

namespace tenure {

struct MachineState {
  FrameState frame;
  RestorationState restoration;
  SessionTable sessions;
  AnswersState answers;
  KeysState keys;
  SourcesState sources;
};

}  // namespace tenure
