#pragma once

// The measurements of the demo.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/distribution.h"
#include "demo/bookkeeper.h"
#include "demo/picture.h"
#include "render/distribution.h"

namespace tenure::demo {

// What the deploys of a version did that cannot start anything.
struct BadDeploys {
  std::uint64_t workers = 0;             // that were started
  std::uint64_t unfit = 0;               // of them, found out by the pool
  std::uint64_t without_holder_max = 0;  // tenants that no worker ran, at the worst moment
  std::vector<double> gap_ms{};          // how long no worker ran a tenant
};

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
  BadDeploys bad_deploys{};

  bool sound() const { return double_holders == 0 && lost == 0; }
};

inline Figures figures(const PoolPicture& picture, const PictureTimes& times, const Books& books, std::uint64_t rounds,
                       BadDeploys bad_deploys) {
  return {distribution(times.takeover_ms),
          distribution(times.gap_ms),
          picture.moves,
          picture.moves_needed,
          books.double_holders,
          books.lost,
          books.refused,
          rounds,
          books.ticks,
          std::move(bad_deploys)};
}

inline std::string to_json(const Figures& figures) {
  render::Json json;
  json.object();
  render::write(json, "takeover_ms", figures.takeover_ms);
  render::write(json, "gap_ms", figures.gap_ms);
  json.field("moves", figures.moves).field("moves_minimum", figures.moves_minimum);
  json.field("double_holders", figures.double_holders).field("lost", figures.lost);
  json.field("stale_writes_refused", figures.stale_writes_refused).field("rounds", figures.rounds);
  const BadDeploys& bad = figures.bad_deploys;
  json.object("bad_deploy").field("workers", bad.workers).field("unfit", bad.unfit);
  json.field("without_holder_max", bad.without_holder_max);
  render::write(json, "gap_ms", distribution(bad.gap_ms));
  json.end();
  return json.end().text();
}

}  // namespace tenure::demo
