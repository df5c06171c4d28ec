#pragma once

// Rules that came after machine version 1. All nodes of a pool must apply the same rules at the same position. So a
// record switches a new rule on, once every member supports its version (SwitchVersion). Code asks
// `context.rule(Rule::name)` where the old and the new rule differ, and keeps both.
//
// To add a rule: add a line here with its version, raise kMachineVersion, write both branches, and run the simulator's
// rolling upgrades (tests/sim). CONTRIBUTING.md has the steps.

#include <cstdint>

namespace tenure {

constexpr std::uint32_t kMachineVersion = 2;  // the newest version of this program

// A higher version that no released program supports. The simulator mixes nodes with and without it, so the next change
// of the rules is rehearsed before it is written.
constexpr std::uint32_t kRehearsedVersion = kMachineVersion + 1;

enum class Rule : std::uint8_t {
  takes,             // jobs have types, and workers name the kinds and types that they take
  sources,           // residents emit tasks, and the state keeps how far each source was taken in
  helpers,           // workers that help get tasks that wait for other workers
  ranks,             // workers have ordinals, and pools have partitions
  rehearsed_jitter,  // another jitter of retries; for rehearsals only
};

constexpr std::uint32_t version_of(Rule rule) {
  switch (rule) {
    // No released program speaks version 2 without one of these.
    case Rule::takes:
    case Rule::sources:
    case Rule::helpers:
    case Rule::ranks: return 2;
    case Rule::rehearsed_jitter: return kRehearsedVersion;
  }
  return UINT32_MAX;
}

}  // namespace tenure
