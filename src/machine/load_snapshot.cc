// A snapshot comes from a disk or a server, so everything is checked. Numbers that point nowhere, lists that loop, or a
// wrong sum make it fail, but never crash.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "machine/keys/keys_snapshot.h"
#include "machine/load.h"
#include "machine/restoration.h"
#include "machine/sessions/sessions.h"
#include "machine/snapshot.h"
#include "machine/sources/sources.h"
#include "tenure/v1/snapshot.pb.h"

namespace tenure {
namespace {

Failure broken(const char* what) { return fail(Errc::corrupt, "restore snapshot", what); }

// The chunks. Their items stay encoded.
struct Parsed {
  std::vector<v1::SnapshotChunk> chunks;
  v1::GlobalState global;
  std::uint64_t items = 0;
};

Status parse(const std::vector<Bytes>& chunks, Parsed& into) {
  Bytes global;
  std::uint64_t sum = 0;
  into.chunks.resize(chunks.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    v1::SnapshotChunk& chunk = into.chunks[i];
    if (!chunk.ParseFromString(chunks[i])) return broken("a chunk does not parse");
    global += chunk.global();
    for (const Bytes& item : chunk.items()) sum += hash_bytes(item);
    into.items += static_cast<std::uint64_t>(chunk.items_size());
  }
  sum += hash_bytes(global);
  if (into.chunks.empty() || !into.chunks.back().has_tail()) return broken("its end is missing");
  const v1::Tail& tail = into.chunks.back().tail();
  if (tail.items() != into.items || tail.sum() != sum) return broken("its sum differs");
  if (!into.global.ParseFromString(global)) return broken("its global state does not parse");
  return {};
}

bool load_senders(const v1::FrameState& from, Senders& into) {
  std::map<std::uint64_t, Sender> senders;
  std::set<std::uint64_t> orders;
  for (const v1::SenderState& state : from.senders()) {
    const Sender sender{.last = state.last(), .seen = state.seen(), .used_ms = state.used_ms(), .order = state.order()};
    if (!senders.emplace(state.id(), sender).second || !orders.insert(state.order()).second) return false;
  }
  into.restore(senders, from.sender_orders());
  return true;
}

bool load_frame(const v1::FrameState& from, FrameState& into) {
  into.position = from.position();
  into.origin = from.origin();
  into.digest = from.digest();
  into.version = from.version();
  into.engine_ms = from.engine_ms();
  into.log_time_ms = from.log_time_ms();
  into.epoch = from.epoch();
  into.stamps = from.stamps();
  into.configured = from.configured();
  into.shutting_down = from.shutting_down();
  into.gone = from.gone();
  for (const v1::TimerState& state : from.timers()) {
    MachineTimer timer{.due_ms = state.due_ms(), .stamp = state.stamp(), .kind = TimerKind::retry, .id = state.id()};
    if (!load_enum(state.kind(), TimerKind::settle, timer.kind)) return false;
    if (!into.timers.insert(timer).second) return false;
  }
  return load_config(from.config(), into.config) && load_senders(from, into.senders);
}

bool frame_is_sound(const FrameState& frame) {
  const bool counts = std::max({frame.epoch, frame.stamps, frame.senders.orders()}) < kCountMax;
  const bool times = is_time(frame.engine_ms) && is_time(frame.log_time_ms) && frame.log_time_ms <= frame.engine_ms;
  bool senders = true;
  frame.senders.each([&](std::uint64_t /*id*/, const Sender& sender) {
    senders =
        senders && sender.order <= frame.senders.orders() && sender.used_ms >= 0 && sender.used_ms <= frame.log_time_ms;
  });
  return counts && times && senders;
}

bool is_sound(const MachineState& state) {
  return frame_is_sound(state.frame) && sessions_are_sound(state.sessions, state.frame.position) &&
         answers_are_sound(state.answers) && keys_are_sound(state.keys, state.frame, state.sessions) &&
         !(state.frame.gone && !state.sessions.all.empty());
}

}  // namespace

Result<MachineState> load_snapshot(const std::vector<Bytes>& chunks, std::uint32_t version_max) {
  Parsed parsed;
  if (Status whole = parse(chunks, parsed); !whole) return Failure(whole.error());
  const v1::GlobalState& global = parsed.global;
  if (global.frame().version() == 0) return broken("its version is missing");
  if (global.frame().version() > version_max) {
    return fail(Errc::version, "restore snapshot",
                "it has machine version " + std::to_string(global.frame().version()) + ", this program supports " +
                    std::to_string(version_max) + ": use a newer one");
  }
  MachineState state;
  if (!load_frame(global.frame(), state.frame) || !load_sessions(global.sessions(), state.sessions) ||
      !load_restoration(global.restoration(), state.restoration) || !load_answers(global.answers(), state.answers) ||
      !load_keys(global.keys(), parsed.items, state.keys) || !load_sources(global.sources(), state.sources)) {
    return broken("its global state is inconsistent");
  }
  std::uint64_t keys = 0;
  for (const v1::SnapshotChunk& chunk : parsed.chunks) {
    for (const Bytes& bytes : chunk.items()) {
      v1::Item item;
      if (!item.ParseFromString(bytes) || !load_key_item(item, state.keys)) return broken("an item is inconsistent");
      keys += item.has_key() ? 1 : 0;
    }
  }
  if (keys != state.keys.table.slots.live() || parsed.items - keys != state.keys.table.jobs.live() ||
      !is_sound(state)) {
    return broken("its items are inconsistent");
  }
  return state;
}

}  // namespace tenure
