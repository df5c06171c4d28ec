#pragma once

// The limits by which a machine judges records. They are part of machine version 1: all nodes of a pool must use the
// same, and they change only with the version.

#include <cstddef>
#include <cstdint>

namespace tenure {

constexpr std::size_t kKeyBytesMax = 1024;
constexpr std::size_t kIdBytesMax = 256;
constexpr std::size_t kPayloadBytesMax = 1U << 20;
constexpr std::size_t kBlobBytesMax = 1U << 20;
constexpr std::size_t kResultBytesMax = 1U << 20;
constexpr std::size_t kMessageBytesMax = 64U << 10;
constexpr std::size_t kErrorBytesMax = 4096;  // longer texts are cut, not refused
constexpr std::size_t kTypeBytesMax = 64;
constexpr std::size_t kTypesMax = 1024;  // types of the jobs in a pool; a job of one more type is refused as pool_full
constexpr std::size_t kTakesMax = 256;   // kinds and types that a worker names

// The partitions of a pool, and how long a worker may be told to wait before it takes its partition back.
constexpr std::uint32_t kPartitionsMax = 1024;
constexpr std::uint32_t kCutsMax = 64;  // parts of a partition
constexpr std::int64_t kSettleMsMax = 3'600'000;
// A primary where its partition failed to start gets it again, to try, after this long.
constexpr std::int64_t kTriedAgainMs = 60'000;

// How many sources a shard keeps. A source may have the name of a key. tenure/emit_limits.hpp has the limits of an
// emit.
constexpr std::size_t kSourcesMax = 4096;
constexpr std::size_t kSourceBytesMax = kKeyBytesMax;
constexpr std::size_t kTroubleBytesMax = 512;  // longer texts are cut by the sender

constexpr std::uint64_t kDelayMsMax = 366ULL * 24 * 3600 * 1000;
constexpr std::int64_t kShutdownPauseMsMax = 1'000;  // between the attempts of a task while the pool is shutting down
// Epochs are stored in users' databases, whose integers are signed. And there must be room above a joiner's floor.
constexpr std::uint64_t kEpochFloorMax = 1ULL << 62;
constexpr std::uint32_t kLeaseMsMin = 100;
constexpr std::uint32_t kLeaseMsMax = 3'600'000;
constexpr std::size_t kSessionsMax = 1024;
constexpr std::size_t kWorkersMax = 4096;
constexpr std::size_t kPastTenuresMax = 8192;  // of residents; kept for `tenure explain`
constexpr std::size_t kPastErrorBytesMax = 256;
constexpr std::size_t kPlacesKeptMax = 1024;  // of workers that are gone; beyond it the oldest is forgotten
constexpr std::size_t kServedPerWorkerMax = 1U << 20;
constexpr std::uint32_t kWindowDefault = 1024;  // how many tasks a worker may hold at a time
constexpr std::uint32_t kWindowMax = 1U << 20;
constexpr std::size_t kHelpLookMax = 256;  // tasks in a worker's queue that are looked at to find one for a helper

// A worker that inherits many keys gets them in portions. This many may be starting at a time, and this many may be
// moving from it to others.
constexpr std::uint32_t kStartingMax = 256;
constexpr std::uint32_t kMovingMax = 64;

// What a worker is trusted with before it has shown that it can start residents (see Fitness): this many may be on
// their way to it or starting there at first. Each start that succeeds doubles the number, up to kStartingMax.
constexpr std::uint32_t kStartsFirst = 4;
// So many different keys in a row whose starts failed on a worker, and on no other, make it unfit.
constexpr std::size_t kUnfitAfter = 3;
// A start that its host calls tentative has succeeded once the job has run for this long. A job that fails before has
// failed to start.
constexpr std::int64_t kStartSettleMs = 500;
// When an unfit worker is given its next key to try; the pause doubles with each try that fails.
constexpr std::int64_t kProbeMsMin = 1'000;
constexpr std::int64_t kProbeMsMax = 60'000;
constexpr std::uint32_t kProbeLookMax = 4096;  // keys that are looked at to find one to try
// Workers on which a job's start failed since the job last ran: beyond this many, no further one is tried before the
// job's next attempt.
constexpr std::size_t kFailedOnMax = 8;

// Messages that a job keeps until its holder has handled them.
constexpr std::size_t kMessagesMax = 1024;
constexpr std::size_t kMessagesBytesMax = 1U << 20;
constexpr std::size_t kStopsMax = 1024;           // requests that wait for one job to stop
constexpr std::size_t kUnansweredMax = 1U << 16;  // beyond it the oldest is left to the dispatcher, who loads the state
constexpr std::size_t kDeadTasksMax = 10'000;     // beyond it the oldest dead task is dropped, and counted

// A log that lost everything may be put back within this time of its first entry; later it is a new pool's.
constexpr std::int64_t kRestoreWithinMs = 600'000;
constexpr int kFormerMax = 16;                      // sessions that a node names when it joins
constexpr std::size_t kTicketsNotedMax = 1U << 16;  // in such a log; with more jobs of its own it is a new pool's
// A key of which only some jobs are back waits this long for the others.
constexpr std::int64_t kRestoreHoldMs = 60'000;

constexpr std::size_t kTimersPerEntryMax = 4096;  // the others fire with the next entry

// A step of log time counts for at most this much. So an hour without appends, or a jump of the engine's clock, does
// not fire every timer at once.
constexpr std::int64_t kLogTimeStepMsMax = 5'000;

// A sender's sequence is remembered for this long after its last batch (in log time). A sender must stop resending long
// before that: after kResendMsMax by its own clock. Log time is never faster than real time, so this is enough.
constexpr std::int64_t kSenderKeepMs = 600'000;
constexpr std::int64_t kResendMsMax = 120'000;
constexpr std::size_t kSendersMax = 1U << 17;
// Batches of one sender that may be in flight: the width of the window for detecting duplicates.
constexpr std::uint64_t kInFlightMax = 64;

// What the end of a session may say about a crash: further culprits are left out, and longer texts are cut.
constexpr std::size_t kCulpritsMax = 64;
constexpr std::size_t kEvidenceBytesMax = 512;
// A job that crashes its process after it has run for this long starts again with its first crash.
constexpr std::int64_t kForgivenMs = 3'600'000;
// Where nothing is known about a death, it never counts against a job that has run for this long.
constexpr std::int64_t kYouthMs = 30'000;

}  // namespace tenure
