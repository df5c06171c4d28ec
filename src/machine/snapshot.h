#pragma once

// The state as bytes, a bounded piece at a time, and back.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "machine/keys/slots.h"
#include "machine/state.h"

namespace tenure {

namespace v1 {
class SnapshotChunk;
}  // namespace v1

// A snapshot under way. Must not outlive its machine. A key that is about to change before its turn has come is saved
// first, so that the snapshot is of one position whatever is applied meanwhile.
class SnapshotSource {
 public:
  // At most one at a time. `under_way` is set while this one exists.
  SnapshotSource(const MachineState& state, Slots& slots, bool& under_way);
  ~SnapshotSource();
  SnapshotSource(const SnapshotSource&) = delete;
  SnapshotSource& operator=(const SnapshotSource&) = delete;

  // The next chunk, made from a bounded number of keys; nothing at the end.
  std::optional<Bytes> next();
  std::uint64_t position() const { return position_; }

 private:
  void add(const Bytes& item);
  void add_part(const v1::SnapshotChunk& part);
  void cut();

  const MachineState& state_;
  Slots& slots_;
  bool& under_way_;
  std::uint64_t position_;
  SlotId at_ = 0;
  SlotId end_;
  Bytes chunk_;  // encoded; parts of a message may stand in any order
  std::deque<Bytes> ready_;
  std::uint64_t items_ = 0;
  std::uint64_t sum_ = 0;
  bool done_ = false;
};

// A digest of the state itself, from scratch.
std::uint64_t digest_of(const MachineState& state);

// The state that the chunks of a snapshot hold. `version_max`: the newest machine version that can be read.
Result<MachineState> load_snapshot(const std::vector<Bytes>& chunks, std::uint32_t version_max);

}  // namespace tenure
