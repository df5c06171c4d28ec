#pragma once

// What a resident hands over with Job::emit(). See docs/emit.md.

#include <chrono>
#include <cstdint>
#include <string>
#include <tenure/emit_limits.hpp>

namespace tenure {

// A task to dispatch. A plain value; not thread-safe.
struct EmitTask {
  std::string key{};
  std::string payload{};
  std::string type{};          // as in DispatchOptions
  std::uint64_t position = 0;  // of the event that it comes from; zero: the position of the emit
  std::chrono::milliseconds delay{0};
  std::uint32_t max_attempts = 0;  // zero: PoolOptions::max_attempts
  // If it is not empty, the task becomes a dead letter at once, with this as its error: for events that cannot be
  // tasks.
  std::string error{};
};

struct EmitOptions {
  // Names the sequence that the positions are of; up to 1024 bytes. Empty: the resident's key. A source in partitions,
  // such as a Kafka topic, is one source for each partition.
  std::string source{};
  // After it the call returns Errc::timed_out. The tasks may still be taken in; emitted() tells.
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
};

}  // namespace tenure
