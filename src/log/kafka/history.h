#pragma once

// What a handle knows of its log, and the proof that the log is still the same one.
//
// Kafka appends by name. If the topic was deleted and made again, or lost its tail in an unclean election, appends of
// old members get into the new log (which skips them, because they carry the old log's id). No client notices that
// reliably. So the handle remembers the offset and the random link of a record, the anchor, and reads it again. If it
// is still there, everything that the handle read or appended before was in this log, too. The last such record becomes
// the next anchor.

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "log/kafka/prober.h"

namespace tenure::kafka {

// A record by its place and its link.
struct Mark {
  std::int64_t offset = -1;
  std::uint64_t link = 0;
};

// Thread-safe.
class History {
 public:
  // Called once, by the thread that finds the loss.
  using OnLost = std::function<void(const Error&)>;

  History(Prober& prober, std::string topic, std::string shown, std::uint64_t log, Mark anchor, OnLost on_lost)
      : prober_(prober),
        topic_(std::move(topic)),
        shown_(std::move(shown)),
        log_(log),
        on_lost_(std::move(on_lost)),
        anchor_(anchor),
        candidate_(anchor) {}

  std::uint64_t log() const { return log_; }
  const std::string& topic() const { return topic_; }
  const std::string& shown() const { return shown_; }

  // A record of this log was read, or appended by this handle.
  void see(Mark mark);
  // Looks at the anchor. Success means that the handle's log was the topic's log at some time during this call.
  // Errc::lost_history means that it was not, and is final.
  Status prove();
  // The same for any record: nothing in its place, or another record, is lost history.
  Status prove(Mark mark);

  // Declares the log lost. Every later call for it fails.
  void lose(const Error& error);
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  // The error for these calls.
  Failure loss() const;

  // Notes a beat of this handle that is being sent. A reader must not hand it over before a proof, because it renews a
  // lease only in the log that newcomers open. False if too many beats are unproven.
  bool sent_beat(std::uint64_t link);
  bool is_unproven(std::uint64_t link) const;
  // A proof has succeeded after the beat was in the log; or it has not been sent.
  void forget_beat(std::uint64_t link);

 private:
  Status look_at(Mark mark);
  Status judge_missing(Mark mark);

  Prober& prober_;
  const std::string topic_;
  const std::string shown_;
  const std::uint64_t log_;
  const OnLost on_lost_;
  std::atomic<bool> lost_ = false;

  mutable std::mutex mutex_;
  Mark anchor_;                       // guarded by mutex_
  Mark candidate_;                    // guarded by mutex_
  std::set<std::uint64_t> unproven_;  // guarded by mutex_; bounded by kUnprovenMax
  Error loss_;                        // guarded by mutex_
};

}  // namespace tenure::kafka
