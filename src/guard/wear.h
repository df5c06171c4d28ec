#pragma once

// When a program that stays has served long enough. Pure: the caller measures, and does what the judgement says. Shared
// by the programs of `tenure work --warm` and the child processes of checkout pools.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/entropy.h"

namespace tenure::guard {

// How often a program whose memory is limited is weighed.
constexpr Nanos kWeighEvery = std::chrono::milliseconds(100);

// Zero turns a limit off.
struct WearLimits {
  // Soft: the program is replaced as soon as it is free.
  std::uint64_t jobs = 0;
  Nanos age{};
  double jitter = 0.1;  // these two are lowered by up to this share, at random, so that not all are replaced at once
  Nanos idle{};
  std::uint64_t memory_bytes = 0;  // resident, of the program and all it has started
  // Hard: it is killed at once.
  std::uint64_t memory_bytes_hard = 0;
  Nanos job_time{};
  Nanos age_hard{};

  bool weighs() const { return memory_bytes != 0 || memory_bytes_hard != 0; }
  bool any() const;
  // Those of one program.
  WearLimits drawn(Entropy& entropy) const;
};

struct Worn {
  Instant started{};
  std::optional<Instant> busy_since{};  // the job it is at
  std::optional<Instant> free_since{};  // where it has none, and the caller limits idle time
  std::uint64_t jobs = 0;
  std::uint64_t memory_bytes = 0;  // when it was last weighed
};

struct Judgement {
  enum class What : std::uint8_t {
    fit,
    worn_out,  // to be replaced when it is free
    killed,    // to be killed
    overdue,   // likewise, since its job takes too long
  };
  What what = What::fit;
  std::string why{};          // "it has served 100 tasks"
  Nanos left = Nanos::max();  // of one that is not killed: how long nothing more can become of it by time alone
};

// `job` is what its jobs are called. A job that begins meanwhile counts as if it began now, and so cannot be due
// earlier than `left` says.
Judgement judge(const WearLimits& limits, const Worn& worn, Instant now, std::string_view job);

// Lowered by up to this share, at random.
std::uint64_t lowered(std::uint64_t limit, double share, Entropy& entropy);

}  // namespace tenure::guard
