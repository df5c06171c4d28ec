#pragma once

// Encodes the state, one bounded piece at a time, and decodes it.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "machine/keys/slots.h"
#include "machine/state.h"
#include "machine/state_machine.h"

namespace tenure {

namespace v1 {
class SnapshotChunk;
}  // namespace v1

// A snapshot of a Machine. A key that changes before its turn is saved first, so the snapshot is of one position,
// whatever is applied meanwhile.
class StateSnapshot final : public SnapshotSource {
 public:
  // At most one at a time. `under_way` is true while this object exists.
  StateSnapshot(const MachineState& state, Slots& slots, bool& under_way);
  ~StateSnapshot() override;

  // A chunk has a bounded number of keys.
  std::optional<Bytes> next() override;
  std::uint64_t position() const override { return position_; }

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
  Bytes chunk_;  // encoded; parts of a message may be in any order
  std::deque<Bytes> ready_;
  std::uint64_t items_ = 0;
  std::uint64_t sum_ = 0;
  bool done_ = false;
};

// A digest of the whole state, computed from scratch.
std::uint64_t digest_of(const MachineState& state);

// Decodes the chunks of a snapshot. `version_max`: the newest machine version that can be read.
Result<MachineState> load_snapshot(const std::vector<Bytes>& chunks, std::uint32_t version_max);

}  // namespace tenure
