#pragma once

// The tags of the descriptors in the host's poller. Programs are numbered from 1, and have a tag for each stream.

#include <cstdint>

#include "exec/pipes.h"

namespace tenure::exec {

constexpr std::uint64_t kWakeTag = 0;
constexpr std::uint64_t kGuardTag = 1;
constexpr std::uint64_t kLifeTag = 2;
constexpr std::uint64_t kCheckpointTag = 3;

constexpr std::uint64_t tag_of(std::uint64_t program, Pipes::Stream stream) { return program * 4 + stream; }
constexpr std::uint64_t program_of(std::uint64_t tag) { return tag / 4; }

}  // namespace tenure::exec
