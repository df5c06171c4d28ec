#pragma once

// A job, as its handler sees it. A Job is a handle: a handler may copy it and keep the copy.
//
// The epoch is the number of this hold, and is larger than that of every earlier hold of the key. Write the epoch with
// your data, and let the database reject a smaller one:
//
//     UPDATE tenants SET state = ?, epoch = ?2 WHERE id = ? AND epoch <= ?2
//
// Thread-safe.

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <tenure/emit.hpp>
#include <tenure/kinds.hpp>
#include <tenure/result.hpp>
#include <vector>

namespace tenure {

class CrashMark;
class LiveJob;

class Job {
 public:
  explicit Job(std::shared_ptr<LiveJob> live);

  const std::string& key() const;
  const std::string& payload() const;
  std::uint64_t epoch() const;
  // The worker that holds the key.
  const std::string& worker() const;
  JobKind kind() const;
  // As it was dispatched (DispatchOptions::type); empty if it has none.
  const std::string& type() const;
  // Counts from 1. Requeueing or moving a job does not change it.
  std::uint32_t attempt() const;

  // The previous holder's last checkpoint, or the bytes that its stop() returned.
  const std::optional<std::string>& last_checkpoint() const;
  // Saves bytes for the next holder, replacing earlier ones. This sends them at once but does not wait for the log: if
  // the process dies before the log has them, they are lost. Errc::invalid for more than kCheckpointBytesMax.
  Status checkpoint(std::string bytes);

  // For residents: hands over tasks, each exactly once, from an ordered source outside the pool (docs/emit.md). The
  // position says how far the source is with it: everything up to there has been handed over. Tasks and position take
  // effect together. An emit at or below the position that the pool has changes nothing, so an emit may be repeated
  // whenever its outcome is not known. The same events must give the same tasks with the same positions.
  //
  // Ask emitted() first, and go on behind it. Errc::pool_full, busy, timed_out: emit the same again.
  // Errc::lost_history: a log has lost entries; ask emitted() again, and go on from there. Errc::refused: another
  // tenure has taken over. Errc::version: members of an older version are in the pool. One emit of a source at a time.
  Status emit(std::uint64_t position, std::vector<EmitTask> tasks, const EmitOptions& options = {});
  // How far the source is, whoever has emitted it; zero if it is new. From then on earlier tenures cannot emit it.
  Result<std::uint64_t> emitted(const EmitOptions& options = {});

  // Trips when the job must stop: somebody stopped it, its key moves, or the lease cannot be renewed. Its callbacks run
  // on a thread of the library and should be short.
  std::stop_token stop_token() const;
  bool stop_requested() const;
  // Why the job must stop. Empty if no stop was requested, or if the lease was lost.
  std::optional<StopReason> stop_reason() const;

  // For residents: ends the job and frees its key. Ignored after the job has ended.
  void finish(std::string result = {});
  // For started residents: reports a failure. The pool retries the job by its rules. Ignored after the job has ended.
  void fail(std::string error);

 private:
  friend class CrashMark;
  std::shared_ptr<LiveJob> live_;
};

inline constexpr std::size_t kCheckpointBytesMax = 1U << 20;

}  // namespace tenure
