#pragma once

// Rules that came after machine version 1. All nodes of a pool must apply the same rules at the same position, so a new
// rule is switched on by a record, once every member speaks its version (SwitchVersion). Code asks
// `context.rule(Rule::name)` where the old and the new rule differ, and keeps the old one.
//
// To add a rule: add a line here with its version, raise kMachineVersion, write both branches, and run the simulator's
// rolling upgrades (tests/sim). CONTRIBUTING.md has the steps.

#include <cstdint>

namespace tenure {

constexpr std::uint32_t kMachineVersion = 1;  // the newest version that this program speaks

// The version above it, which no released program speaks. The simulator runs pools whose nodes speak it beside others
// that do not, so that the next change of the rules has been rehearsed before it is written.
constexpr std::uint32_t kRehearsedVersion = kMachineVersion + 1;

enum class Rule : std::uint8_t {
  rehearsed_jitter,  // the jitter of retries is mixed in another way; for rehearsals only
};

constexpr std::uint32_t version_of(Rule rule) {
  switch (rule) {
    case Rule::rehearsed_jitter: return kRehearsedVersion;
  }
  return UINT32_MAX;
}

}  // namespace tenure
