#pragma once

// Encodes and decodes the state of the part `keys`. Decoding checks everything: numbers that point nowhere, lists that
// loop, or wrong counts make it fail, but never crash.

#include <cstdint>
#include <functional>

#include "machine/frame_state.h"
#include "machine/keys/keys_state.h"
#include "machine/sessions/session_table.h"

namespace tenure {

namespace v1 {
class Item;
class JobState;
class KeysState;
}  // namespace v1

using TakeItem = std::function<void(const Bytes&)>;

void save_keys(const KeysState& keys, v1::KeysState& into);
// Passes an encoded Item for the key, and one for each of its jobs, to `take`.
void each_item(const KeysState& keys, SlotId slot, const TakeItem& take);
// What a job is, without where it lies in this state.
void save_job_content(const KeptJob& job, v1::JobState& into);
// Whether it can be loaded.
bool job_content_fits(const v1::JobState& from);
void load_job_content(const v1::JobState& from, KeptJob& into);
// What it counts for in KeysState::bytes.
std::uint64_t content_bytes(const KeptJob& job);
// The same for each dead task, which belongs to no slot.
void each_dead_item(const KeysState& keys, const TakeItem& take);

// `items`: the number of items.
bool load_keys(const v1::KeysState& from, std::uint64_t items, KeysState& into);
bool load_key_item(const v1::Item& item, KeysState& into);
// True if a state that was read could be the result of applying records.
bool keys_are_sound(const KeysState& keys, const FrameState& frame, const SessionTable& sessions);

}  // namespace tenure
