#pragma once

// What following a log needs of a machine: the frame, without the parts. A replica follows anything that has it, so
// that its tests need no pool.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "machine/effects.h"
#include "machine/frame_state.h"
#include "machine/sessions/session_table.h"

namespace tenure {

namespace v1 {
class Batch;
}  // namespace v1

struct EntryView {
  std::uint64_t position;
  std::int64_t time_ms;  // the engine's time
  BytesView data;
};

// A snapshot in progress. Must not outlive its machine.
class SnapshotSource {
 public:
  SnapshotSource() = default;
  virtual ~SnapshotSource() = default;
  SnapshotSource(const SnapshotSource&) = delete;
  SnapshotSource& operator=(const SnapshotSource&) = delete;

  // The next chunk. Nothing at the end.
  virtual std::optional<Bytes> next() = 0;
  // The position that it is of.
  virtual std::uint64_t position() const = 0;
};

// Reading it is not virtual, so an entry costs one virtual call.
class StateMachine {
 public:
  virtual ~StateMachine() = default;
  StateMachine(const StateMachine&) = delete;
  StateMachine& operator=(const StateMachine&) = delete;

  // Applies the next entry. `batch` is what a Decoder has read from the entry's bytes, possibly on another thread. It
  // is null if every reader must skip the entry.
  virtual void apply(const EntryView& entry, const v1::Batch* batch, Effects& effects) = 0;

  // The current state in chunks. The machine may apply entries while the chunks are taken, and every chunk is cheap. At
  // most one snapshot at a time.
  virtual std::unique_ptr<SnapshotSource> begin_snapshot() = 0;
  // Replaces the state, while there is no snapshot in progress. After an error the old state stays.
  virtual Status restore(const std::vector<Bytes>& chunks) = 0;
  // The approximate size of a snapshot.
  virtual std::uint64_t state_bytes() const = 0;

  // The newest version that it applies.
  std::uint32_t speaks() const { return speaks_; }
  std::uint64_t position() const { return frame_.position; }
  std::uint32_t version() const { return frame_.version; }
  // A chain over every decision so far: equal on all nodes at the same position. Constant time.
  std::uint64_t digest() const { return frame_.digest; }
  std::int64_t log_time_ms() const { return frame_.log_time_ms; }
  std::int64_t engine_ms() const { return frame_.engine_ms; }  // time of the last entry, for people
  std::uint64_t origin() const { return frame_.origin; }       // of the log: another one has another
  std::uint64_t epoch_last() const { return frame_.epoch; }
  bool gone() const { return frame_.gone; }
  std::uint64_t last_sequence(std::uint64_t sender) const { return frame_.senders.last(sender); }
  // When the next timer is due, in log time.
  std::optional<std::int64_t> next_due_ms() const {
    if (frame_.timers.empty()) return std::nullopt;
    return frame_.timers.begin()->due_ms;
  }
  const SessionTable& sessions() const { return sessions_; }

 protected:
  // Of the state of the derived class, in which they stay where they are.
  StateMachine(std::uint32_t speaks, const FrameState& frame, const SessionTable& sessions)
      : speaks_(speaks), frame_(frame), sessions_(sessions) {}

 private:
  const std::uint32_t speaks_;
  const FrameState& frame_;
  const SessionTable& sessions_;
};

}  // namespace tenure
