#pragma once

// What a resident hands over with Job::emit(). See docs/emit.md.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tenure {

// A task to dispatch. A plain value; not thread-safe.
struct EmitTask {
  std::string key{};
  std::string payload{};
  std::string type{};          // as in DispatchOptions
  std::uint64_t position = 0;  // of the event that it comes from; zero: the position of the emit
  std::chrono::milliseconds delay{0};
  std::uint32_t max_attempts = 0;  // zero: PoolOptions::max_attempts
};

struct EmitOptions {
  // Names the sequence that the positions are of; up to 1024 bytes. Empty: the resident's key. A source in partitions,
  // such as a Kafka topic, is one source for each partition.
  std::string source{};
  // After it the call returns Errc::timed_out. The tasks may still be taken in; emitted() tells.
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
};

// The limits of one emit: its tasks, and the bytes of their keys, payloads and types together.
inline constexpr std::size_t kEmitTasksMax = 4096;
inline constexpr std::size_t kEmitBytesMax = (1U << 20) + (64U << 10);
// Positions are 1 to 2^62 - 1.
inline constexpr std::uint64_t kEmitPositionMax = (1ULL << 62) - 1;

}  // namespace tenure
