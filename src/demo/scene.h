#pragma once

// What to draw: plain values, collected from the other parts.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "demo/chronicle.h"
#include "demo/crew.h"
#include "demo/figures.h"
#include "demo/picture.h"

namespace tenure::demo {

struct Cell {
  enum class Mood : std::uint8_t {
    ticking,
    fresh,   // moved a moment ago
    stale,   // its holder is killed or frozen, and the pool has not reacted yet
    moving,  // being stopped or started
    orphan,  // no holder
  };

  std::string key{};
  int slot = 0;  // the holder's slot; zero: unknown
  Mood mood = Mood::orphan;
  std::uint64_t ticks = 0;
  double alone_ms = 0;  // for how long it has no holder
};

struct WorkerLine {
  int slot = 0;
  std::string id{};
  int process = 0;
  std::string state{};
  std::size_t keys = 0;
  std::optional<double> lease_left_ms{};  // nothing while it is not in the pool
};

struct Explanation {
  std::string key{};
  std::vector<PastHold> holds{};  // oldest first
  Instant now{};
};

struct Scene {
  std::string engine{};
  double age_ms = 0;
  double lease_ms = 0;
  std::vector<Cell> cells{};
  std::vector<WorkerLine> workers{};
  std::vector<Happening> happenings{};
  Figures figures{};
  std::optional<Explanation> explanation{};
};

// The slot in a worker's id: 2 of `w2.3`.
int slot_of(const std::string& worker);

Scene make_scene(const PoolPicture& picture, const std::vector<Member>& members, const Books& books, Instant now,
                 Nanos lease);
// Explains the `which`th tenant, ordered by the number of moves.
std::optional<Explanation> explain(const PoolPicture& picture, std::size_t which, Instant now);

}  // namespace tenure::demo
