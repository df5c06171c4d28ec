#pragma once

// The measurements of the demo.

#include <cstdint>
#include <string>

#include "base/distribution.h"
#include "demo/bookkeeper.h"
#include "demo/picture.h"
#include "render/distribution.h"

namespace tenure::demo {

struct Figures {
  Distribution takeover_ms{};  // from the kill of a holder to `started` elsewhere
  Distribution gap_ms{};       // how long no worker ran a tenant that moved
  std::uint64_t moves = 0;
  std::uint64_t moves_minimum = 0;
  std::uint64_t double_holders = 0;
  std::uint64_t lost = 0;
  std::uint64_t stale_writes_refused = 0;
  std::uint64_t rounds = 0;  // acts played
  std::uint64_t ticks = 0;

  bool sound() const { return double_holders == 0 && lost == 0; }
};

inline Figures figures(const PoolPicture& picture, const PictureTimes& times, const Books& books,
                       std::uint64_t rounds) {
  return {distribution(times.takeover_ms),
          distribution(times.gap_ms),
          picture.moves,
          picture.moves_needed,
          books.double_holders,
          books.lost,
          books.refused,
          rounds,
          books.ticks};
}

inline std::string to_json(const Figures& figures) {
  render::Json json;
  json.object();
  render::write(json, "takeover_ms", figures.takeover_ms);
  render::write(json, "gap_ms", figures.gap_ms);
  json.field("moves", figures.moves).field("moves_minimum", figures.moves_minimum);
  json.field("double_holders", figures.double_holders).field("lost", figures.lost);
  json.field("stale_writes_refused", figures.stale_writes_refused).field("rounds", figures.rounds);
  return json.end().text();
}

}  // namespace tenure::demo
