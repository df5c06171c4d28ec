#pragma once

// The bounds a machine judges records by. All nodes of a pool must use the same: they are part of machine
// version 1 and change only with the version.

#include <cstddef>
#include <cstdint>

namespace tenure {

constexpr std::size_t kKeyBytesMax = 1024;
constexpr std::size_t kIdBytesMax = 256;
constexpr std::size_t kPayloadBytesMax = 1U << 20;
constexpr std::size_t kBlobBytesMax = 1U << 20;
constexpr std::size_t kResultBytesMax = 1U << 20;
constexpr std::size_t kMessageBytesMax = 64U << 10;
constexpr std::size_t kErrorBytesMax = 4096;  // longer ones are cut, not refused

constexpr std::uint64_t kDelayMsMax = 366ULL * 24 * 3600 * 1000;
// Epochs end up in users' databases, whose integers are signed; and above a joiner's floor there must be room.
constexpr std::uint64_t kEpochFloorMax = 1ULL << 62;
constexpr std::uint32_t kLeaseMsMin = 100;
constexpr std::uint32_t kLeaseMsMax = 3'600'000;
constexpr std::size_t kSessionsMax = 1024;
constexpr std::size_t kWorkersMax = 4096;
constexpr std::size_t kPastTenuresMax = 8192;  // of residents; kept to be explained
constexpr std::size_t kPastErrorBytesMax = 256;
constexpr std::size_t kPlacesKeptMax = 1024;   // of workers that are gone; beyond it the oldest is forgotten
constexpr std::size_t kServedPerWorkerMax = 1U << 20;
constexpr std::uint32_t kWindowDefault = 1024;  // tasks a worker may hold at a time
constexpr std::uint32_t kWindowMax = 1U << 20;

// A worker that has just inherited many keys is given them in portions: this many may be starting at a time, and
// this many may be on their way from it to others.
constexpr std::uint32_t kStartingMax = 256;
constexpr std::uint32_t kMovingMax = 64;

// What a worker is trusted with before it has shown that it can start residents (see Fitness): this many may be on their
// way to it or starting there at first. Each start that succeeds doubles the number, up to kStartingMax.
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

// Messages a job keeps until its holder has handled them.
constexpr std::size_t kMessagesMax = 1024;
constexpr std::size_t kMessagesBytesMax = 1U << 20;
constexpr std::size_t kStopsMax = 1024;           // that wait for one job to have stopped
constexpr std::size_t kUnansweredMax = 1U << 16;  // beyond it the oldest is left to the dispatcher, who loads the state
constexpr std::size_t kDeadTasksMax = 10'000;     // beyond it the oldest dead task is dropped, and counted
constexpr std::size_t kTimersPerEntryMax = 4096;  // the rest fires with the next entry

// A step of log time counts for at most this much, so that an hour in which nobody appended anything, or a jump of
// the engine's clock, does not make every timer fire at once.
constexpr std::int64_t kLogTimeStepMsMax = 5'000;

// A sender's sequence is remembered this long after its last batch (in log time), and a sender must stop resending
// well before that: kResendMsMax by its own clock. Log time never runs ahead of real time, so this is enough.
constexpr std::int64_t kSenderKeepMs = 600'000;
constexpr std::int64_t kResendMsMax = 120'000;
constexpr std::size_t kSendersMax = 1U << 17;
// Batches of one sender that may be under way at once: the width of the window in which repetitions are noticed.
constexpr std::uint64_t kInFlightMax = 64;

// A job whose holder died within this time of its start may have killed it.
constexpr std::int64_t kYouthMs = 30'000;
// A job on its last chance runs as the only such job of its session for this long before it counts as harmless; or,
// where its holders died at a greater age of it, for twice that age and kYouthMs at most.
constexpr std::int64_t kSoloMs = 2'000;
// Where very many wait for their last chance, one in so many runs together with others of them.
constexpr std::size_t kTrialShare = 16;
constexpr std::uint32_t kTrialMax = 256;
constexpr std::uint32_t kTrialCut = 4;  // and with fewer by this factor when they have killed their holder together

}  // namespace tenure
