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
#include <tenure/kinds.hpp>
#include <tenure/result.hpp>

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
