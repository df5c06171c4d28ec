#include <utility>

#include "base/assert.h"
#include "base/mutant.h"
#include "machine/encode.h"
#include "machine/keys/keys_snapshot.h"
#include "machine/restoration.h"
#include "machine/sessions/sessions.h"
#include "machine/snapshot.h"
#include "machine/sources/sources.h"
#include "tenure/v1/snapshot.pb.h"

namespace tenure {
namespace {

constexpr std::size_t kChunkBytes = 1U << 20;
constexpr SlotId kSlotsPerChunkMax = 4096;

void save_frame(const FrameState& frame, v1::FrameState& into) {
  into.set_position(frame.position);
  into.set_origin(frame.origin);
  into.set_digest(frame.digest);
  into.set_version(frame.version);
  into.set_engine_ms(frame.engine_ms);
  into.set_log_time_ms(frame.log_time_ms);
  into.set_epoch(frame.epoch);
  into.set_stamps(frame.stamps);
  into.set_configured(frame.configured);
  into.set_shutting_down(frame.shutting_down);
  into.set_gone(frame.gone);
  encode_config(frame.config, *into.mutable_config());
  if (!MUTANT(snapshot_forgets_timers)) {
    for (const MachineTimer& timer : frame.timers) {
      v1::TimerState& state = *into.add_timers();
      state.set_due_ms(timer.due_ms);
      state.set_stamp(timer.stamp);
      state.set_kind(static_cast<std::uint32_t>(timer.kind));
      state.set_id(timer.id);
    }
  }
  frame.senders.each([&into](std::uint64_t id, const Sender& sender) {
    v1::SenderState& state = *into.add_senders();
    state.set_id(id);
    state.set_last(sender.last);
    state.set_seen(sender.seen);
    state.set_used_ms(sender.used_ms);
    state.set_order(sender.order);
  });
  into.set_sender_orders(frame.senders.orders());
}

Bytes save_global(const MachineState& state) {
  v1::GlobalState global;
  save_frame(state.frame, *global.mutable_frame());
  save_restoration(state.restoration, *global.mutable_restoration());
  save_sessions(state.sessions, *global.mutable_sessions());
  save_answers(state.answers, *global.mutable_answers());
  save_keys(state.keys, *global.mutable_keys());
  if (!state.sources.by_name.empty()) save_sources(state.sources, *global.mutable_sources());
  return global.SerializeAsString();
}

}  // namespace

StateSnapshot::StateSnapshot(const MachineState& state, Slots& slots, bool& under_way)
    : state_(state),
      slots_(slots),
      under_way_(under_way),
      position_(state.frame.position),
      end_(state.keys.table.slots.end()) {
  ASSERT(!under_way_);
  under_way_ = true;
  const auto take = [this](const Bytes& item) { add(item); };
  slots_.begin_snapshot([this, take](SlotId slot) { each_item(state_.keys, slot, take); });
  const Bytes global = save_global(state);
  sum_ += hash_bytes(global);
  for (std::size_t at = 0; at < global.size(); at += kChunkBytes) {
    v1::SnapshotChunk part;
    part.set_global(global.substr(at, kChunkBytes));
    add_part(part);
    cut();
  }
  each_dead_item(state.keys, take);
}

StateSnapshot::~StateSnapshot() {
  slots_.end_snapshot();
  under_way_ = false;
}

std::optional<Bytes> StateSnapshot::next() {
  for (SlotId seen = 0; ready_.empty() && at_ < end_ && seen < kSlotsPerChunkMax; ++seen, ++at_) slots_.save_now(at_);
  if (ready_.empty() && at_ == end_ && !done_) {
    v1::SnapshotChunk part;
    part.mutable_tail()->set_items(items_);
    part.mutable_tail()->set_sum(sum_);
    add_part(part);
    done_ = true;
    cut();
  } else if (ready_.empty() && !done_) {
    cut();
  }
  if (ready_.empty()) return std::nullopt;
  Bytes chunk = std::move(ready_.front());
  ready_.pop_front();
  return chunk;
}

// Appends an element of SnapshotChunk.items.
void StateSnapshot::add(const Bytes& item) {
  ++items_;
  sum_ += hash_bytes(item);
  append_element(v1::SnapshotChunk::kItemsFieldNumber, item, chunk_);
  if (chunk_.size() >= kChunkBytes) cut();
}

void StateSnapshot::add_part(const v1::SnapshotChunk& part) { part.AppendToString(&chunk_); }

void StateSnapshot::cut() { ready_.push_back(std::exchange(chunk_, {})); }

std::uint64_t digest_of(const MachineState& state) {
  std::uint64_t sum = hash_bytes(save_global(state));
  const auto take = [&sum](const Bytes& item) { sum += hash_bytes(item); };
  each_dead_item(state.keys, take);
  for (SlotId slot = 0; slot < state.keys.table.slots.end(); ++slot) {
    if (state.keys.table.slots[slot].live) each_item(state.keys, slot, take);
  }
  return sum;
}

}  // namespace tenure
