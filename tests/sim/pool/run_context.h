#pragma once

// Shared by all processes of a run.

#include "sim/pool/onlooker.h"
#include "sim/pool/recorder.h"
#include "sim/pool/weights.h"
#include "sim/world/wires.h"

namespace tenure::sim {

struct RunContext {
  World& world;
  Wires& wires;
  Onlooker& onlooker;
  Recorder& recorder;
  Store& store;
  const Work& work;
};

}  // namespace tenure::sim
