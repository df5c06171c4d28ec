#pragma once

// Shared by all processes of a run.

#include "sim/onlooker.h"
#include "sim/recorder.h"
#include "sim/weights.h"
#include "sim/wires.h"

namespace tenure::sim {

struct Stage {
  World& world;
  Wires& wires;
  Onlooker& onlooker;
  Recorder& recorder;
  Store& store;
  const Work& work;
};

}  // namespace tenure::sim
