#pragma once

// All that a machine knows, part by part. Two machines that have applied the same entries have equal states; a snapshot
// holds all of it.

#include "machine/answers/answers.h"
#include "machine/frame_state.h"
#include "machine/keys/keys_state.h"
#include "machine/sessions/session_table.h"

namespace tenure {

struct MachineState {
  FrameState frame;
  SessionTable sessions;
  AnswersState answers;
  KeysState keys;
};

}  // namespace tenure
