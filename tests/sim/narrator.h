#pragma once

// Prints a run as it happens, for a person who examines a failing seed.

#include "sim/recorder.h"
#include "sim/weights.h"

namespace tenure::sim {

// Prints the plan now, and from here on every event as it is recorded.
void narrate(const Plan& plan, Recorder& recorder);

}  // namespace tenure::sim
