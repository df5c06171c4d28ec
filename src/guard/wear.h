#pragma once

// Decides when a warm program has served long enough. Pure: the caller measures, and acts on the judgement. Shared by
// the programs of `tenure work --warm` and the child processes of checkout pools.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/entropy.h"

namespace tenure::guard {

// How often to measure the memory of a program with a limit.
constexpr Nanos kWeighEvery = std::chrono::milliseconds(100);

// Zero turns a limit off.
struct WearLimits {
  // Soft limits: the program is replaced as soon as it is free.
  std::uint64_t jobs = 0;
  Nanos age{};
  // the two limits above are lowered by up to this share, at random, so that not all programs are replaced at once
  double jitter = 0.1;
  Nanos idle{};
  std::uint64_t memory_bytes = 0;  // resident memory of the program and all it has started
  // Hard limits: the program is killed at once.
  std::uint64_t memory_bytes_hard = 0;
  Nanos job_time{};
  Nanos age_hard{};

  bool weighs() const { return memory_bytes != 0 || memory_bytes_hard != 0; }
  bool any() const;
  // The limits of one program.
  WearLimits drawn(Entropy& entropy) const;
};

struct Worn {
  Instant started{};
  std::optional<Instant> busy_since{};  // start of its current job
  std::optional<Instant> free_since{};  // if it has no job, and the caller limits idle time
  std::uint64_t jobs = 0;
  std::uint64_t memory_bytes = 0;  // at the last measurement
};

struct Judgement {
  enum class What : std::uint8_t {
    fit,
    worn_out,  // replace it when it is free
    killed,    // kill it
    overdue,   // kill it, because its job takes too long
  };
  What what = What::fit;
  std::string why{};          // "it has served 100 tasks"
  Nanos left = Nanos::max();  // of one that is not killed: how long nothing more can become of it by time alone
};

// `job` is the name for jobs in messages. A job that begins meanwhile counts as if it began now, so it cannot be due
// earlier than `left` says.
Judgement judge(const WearLimits& limits, const Worn& worn, Instant now, std::string_view job);

// Lowered at random by up to this share.
std::uint64_t lowered(std::uint64_t limit, double share, Entropy& entropy);

}  // namespace tenure::guard
