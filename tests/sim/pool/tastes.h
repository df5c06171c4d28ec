#pragma once

// Which jobs the workers of a run take, and of which types its jobs are.

#include <string>
#include <vector>

#include "machine/takes.h"
#include "sim/pool/weights.h"

namespace tenure::sim {

// The first version of the machine that knows of both.
constexpr std::uint32_t kTakesVersion = 2;

// As texts: "task", "resident:a", …; none: every job. All workers of a pool together take everything.
std::vector<std::string> taste_of(const Plan& plan, std::uint32_t node, std::uint32_t worker);
Takes to_takes(const std::vector<std::string>& taste);
// The empty one among them.
std::string some_type(const Plan& plan, Dice& dice, bool resident);

}  // namespace tenure::sim
