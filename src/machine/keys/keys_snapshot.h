#pragma once

// The state of the part `keys` as bytes, and back. What is read is checked: numbers that point nowhere, lists that loop
// or counts that differ make it refused, never a crash.

#include <cstdint>
#include <functional>

#include "machine/frame_state.h"
#include "machine/keys/keys_state.h"
#include "machine/sessions/session_table.h"

namespace tenure {

namespace v1 {
class Item;
class KeysState;
}  // namespace v1

using TakeItem = std::function<void(const Bytes&)>;

void save_keys(const KeysState& keys, v1::KeysState& into);
// An encoded Item for the key, and for each of its jobs.
void each_item(const KeysState& keys, SlotId slot, const TakeItem& take);
// For each dead task: it belongs to no slot.
void each_dead_item(const KeysState& keys, const TakeItem& take);

// `items`: how many of them there are.
bool load_keys(const v1::KeysState& from, std::uint64_t items, KeysState& into);
bool load_key_item(const v1::Item& item, KeysState& into);
// Whether what was read could have come about by applying records.
bool keys_are_sound(const KeysState& keys, const FrameState& frame, const SessionTable& sessions);

}  // namespace tenure
