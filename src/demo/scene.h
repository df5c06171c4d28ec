#pragma once

// What is to be drawn: plain values, gathered from those who know them.

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
    stale,   // its holder is killed or frozen, and the pool has not acted on it yet
    moving,  // being stopped or started
    orphan,  // nobody holds it
  };

  std::string key{};
  int slot = 0;  // of the holder; zero: unknown
  Mood mood = Mood::orphan;
  std::uint64_t ticks = 0;
  double alone_ms = 0;  // of an orphan: for how long
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
// Of the `which`th tenant, in order of how often they moved.
std::optional<Explanation> explain(const PoolPicture& picture, std::size_t which, Instant now);

}  // namespace tenure::demo
