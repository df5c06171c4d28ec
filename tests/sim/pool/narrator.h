#pragma once

// Prints a run as it happens, for a person who examines a failing seed.

#include "sim/pool/recorder.h"
#include "sim/pool/weights.h"

namespace tenure::sim {

// Prints the plan now, and from here on every event as it is recorded.
void narrate(const Plan& plan, Recorder& recorder);

}  // namespace tenure::sim
