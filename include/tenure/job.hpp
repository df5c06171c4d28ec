#pragma once

// A job as its holder sees it. Handlers are given one, and may copy it and keep the copy: it is a handle, and the
// last copy frees what lies behind it.
//
// The epoch is the number of this hold. It is larger than that of every earlier hold of the key, so whoever writes
// to a database writes the epoch too, and lets the database refuse a smaller one:
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
  // From 1; requeued and moved jobs keep their number.
  std::uint32_t attempt() const;

  // What the last holder left: its last checkpoint, or what its stop handed over.
  const std::optional<std::string>& last_checkpoint() const;
  // Puts bytes aside for the next holder, in place of what was put aside before. They are sent at once, but not
  // waited for: what the log has not got when this process dies is lost. Refused over kCheckpointBytesMax.
  Status checkpoint(std::string bytes);

  // Trips when the job has to stop: it was stopped, its key moves, or the lease cannot be renewed. Callbacks that
  // are registered with it run on a thread of the library and should be short.
  std::stop_token stop_token() const;
  bool stop_requested() const;
  // Why; nothing while no stop was asked for, or where the lease was lost.
  std::optional<StopReason> stop_reason() const;

  // For residents: the job has ended by itself, and its key is free. What is said after the job's end is ignored.
  void finish(std::string result = {});
  // For residents that were started: the job has failed by itself, and is tried again by the pool's rules.
  void fail(std::string error);

 private:
  std::shared_ptr<LiveJob> live_;
};

inline constexpr std::size_t kCheckpointBytesMax = 1U << 20;

}  // namespace tenure
