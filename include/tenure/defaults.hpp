#pragma once

// The defaults of a pool's options, in one place: the library, the program and the log's records share them.

#include <cstdint>

namespace tenure {

inline constexpr std::int64_t kWorkerTtlMsDefault = 10'000;
inline constexpr std::uint32_t kMaxQueuedJobsDefault = 1'000;
inline constexpr std::uint32_t kMaxDelayedJobsDefault = 100'000;
inline constexpr std::int64_t kPendingJobTtlMsDefault = 20'000;
inline constexpr std::int64_t kWorkerShutdownTtlMsDefault = 120'000;
inline constexpr std::uint32_t kMaxAttemptsDefault = 10;
inline constexpr std::int64_t kRetryBackoffMsDefault = 1'000;
inline constexpr std::int64_t kRetryBackoffMsMaxDefault = 3'600'000;
inline constexpr std::uint32_t kQuarantineAfterDefault = 3;

}  // namespace tenure
