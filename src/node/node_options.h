#pragma once

// The inputs of a node: its name, its lease, the pool's options, and its environment.

#include <cstdint>
#include <functional>
#include <tenure/assignment.hpp>
#include <tenure/defaults.hpp>

#include "base/clock.h"
#include "base/entropy.h"
#include "base/known_death.h"
#include "base/loop.h"
#include "log/log.h"
#include "machine/config.h"
#include "machine/rules.h"
#include "node/keys/host.h"
#include "node/replica.h"

namespace tenure {

struct NodeOptions {
  Bytes name;
  Bytes host;
  std::uint32_t pid = 0;
  Nanos lease = std::chrono::milliseconds(kWorkerTtlMsDefault);
  PoolConfig config;          // of a pool that this node creates
  bool sets_options = false;  // also by its first request, before a member has joined
  ChooseWorker choose;        // for chosen assignment
  // For a pool of several logs, of which the first one has to end last.
  bool leaves_at_shutdown = true;  // or once leave_at_shutdown() was called
  bool removes_log = true;         // when the pool has ended; otherwise somebody else does
  std::function<void(std::function<void()> then)> before_removal{};  // it calls `then`, from any thread
  bool restores = true;  // puts the pool back if its log lost everything; see Healer
  std::size_t restore_part_bytes = 128U << 10;
  ReplicaOptions replica;
  std::uint32_t speaks = kMachineVersion;  // the newest machine version that it supports; older in some simulations
  std::uint32_t look_every = 64;           // see Runtime; smaller in tests
};

// The environment of a node. Everything must outlive it.
struct NodeWorld {
  Log& log;
  Loop& loop;
  Loop& heart_loop;
  const Clock& clock;
  Entropy& entropy;
  Host* host;                         // null: the node has no workers
  KnownDeath* known_death = nullptr;  // null: only leases detect deaths
};

}  // namespace tenure
