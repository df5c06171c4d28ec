#include "machine/keys/remember_keys.h"

#include <algorithm>
#include <tuple>

#include "machine/keys/keys_snapshot.h"
#include "tenure/v1/restore.pb.h"

namespace tenure {

bool comes_before(BytesView a, BytesView b) { return std::tuple(hash_bytes(a), a) < std::tuple(hash_bytes(b), b); }

RememberedKeys::RememberedKeys(const KeysState& state, const FrameState& frame) : state_(state), frame_(frame) {
  std::map<BytesView, std::uint32_t> dead;
  gather_dead(dead);
  keys_.reserve(state.table.slots.live() + dead.size());
  for (SlotId slot = 0; slot < state.table.slots.end(); ++slot) {
    if (!state.table.slots[slot].live) continue;
    const auto found = dead.empty() ? dead.end() : dead.find(state.table.slots[slot].key);
    keys_.push_back({state.table.placed[slot].hash, slot, found == dead.end() ? kNone : found->second});
    if (found != dead.end()) dead.erase(found);
  }
  for (const auto& [key, index] : dead) keys_.push_back({hash_bytes(key), kNone, index});
  std::sort(keys_.begin(), keys_.end(), [this](const Entry& a, const Entry& b) {
    return a.hash != b.hash ? a.hash < b.hash : key_of(a) < key_of(b);
  });
}

void RememberedKeys::gather_dead(std::map<BytesView, std::uint32_t>& by_key) {
  for (const auto& [id, letter] : state_.dead) {
    if (letter.kind == JobKind::resident) {
      dead_residents_.emplace(letter.job, id);
      continue;
    }
    const auto [found, added] = by_key.emplace(letter.key, static_cast<std::uint32_t>(dead_tasks_.size()));
    if (added) dead_tasks_.push_back({letter.key, {}});
    dead_tasks_[found->second].letters.push_back(id);
  }
}

BytesView RememberedKeys::key_of(const Entry& entry) const {
  return entry.slot != kNone ? BytesView(state_.table.slots[entry.slot].key) : dead_tasks_[entry.dead].key;
}

BytesView RememberedKeys::key(std::size_t at) const { return key_of(keys_[at]); }

std::size_t RememberedKeys::behind(BytesView key) const {
  const std::uint64_t hash = hash_bytes(key);
  const auto found = std::partition_point(keys_.begin(), keys_.end(), [&](const Entry& entry) {
    return entry.hash != hash ? entry.hash < hash : key_of(entry) <= key;
  });
  return static_cast<std::size_t>(found - keys_.begin());
}

RememberedKeys::Place RememberedKeys::first(std::size_t at) const {
  const Entry& entry = keys_[at];
  if (entry.slot == kNone) return skip_empty(entry, {.list = Place::List::delayed, .job = kNone});
  const Slot& slot = state_.table.slots[entry.slot];
  const bool stopping = slot.state == JobState::stopping;
  const JobId head = stopping && slot.head != kNone ? state_.table.jobs[slot.head].next : slot.head;
  return skip_empty(entry, {.list = Place::List::line, .job = head});
}

RememberedKeys::Place RememberedKeys::skip_empty(const Entry& entry, Place place) const {
  if (place.list == Place::List::line && place.job == kNone) {
    place = {.list = Place::List::delayed, .job = state_.table.slots[entry.slot].delayed};
  }
  if (place.list == Place::List::delayed && place.job == kNone) place = {.list = Place::List::dead};
  const std::size_t letters = entry.dead == kNone ? 0 : dead_tasks_[entry.dead].letters.size();
  if (place.list == Place::List::dead && place.letter >= letters) place = {.list = Place::List::end};
  return place;
}

void RememberedKeys::encode(std::size_t at, v1::RememberedKey& into) const {
  const Entry& entry = keys_[at];
  into.set_key(Bytes(key_of(entry)));
  into.set_kind(static_cast<std::uint32_t>(JobKind::task));
  if (entry.slot == kNone) return;
  const Slot& slot = state_.table.slots[entry.slot];
  into.set_kind(static_cast<std::uint32_t>(slot.kind));
  into.set_epoch(slot.epoch);
  if (slot.state == JobState::waiting) {
    into.set_retry_ms(std::max<std::int64_t>(slot.due_ms - frame_.log_time_ms, 0));
  }
}

RememberedKeys::Place RememberedKeys::encode(std::size_t at, Place place, v1::RememberedJob& into) const {
  const Entry& entry = keys_[at];
  if (place.list == Place::List::dead) {
    encode_letter(dead_tasks_[entry.dead].letters[place.letter], into);
    ++place.letter;
    return skip_empty(entry, place);
  }
  const KeptJob& job = state_.table.jobs[place.job];
  const auto letter = dead_residents_.find(place.job);
  if (letter != dead_residents_.end()) {
    encode_letter(letter->second, into);
  } else {
    save_job_content(job, *into.mutable_job());
    into.set_type(state_.types.name(job.type));
  }
  if (place.list == Place::List::delayed) {
    into.set_delay_ms(std::max<std::int64_t>(job.due_ms - frame_.log_time_ms, 1));
  }
  place.job = job.next;
  return skip_empty(entry, place);
}

void RememberedKeys::encode_letter(std::uint64_t id, v1::RememberedJob& into) const {
  const DeadLetter& letter = state_.dead.at(id);
  save_job_content(state_.table.jobs[letter.job], *into.mutable_job());
  into.set_type(state_.types.name(state_.table.jobs[letter.job].type));
  v1::DeadState& dead = *into.mutable_letter();
  dead.set_id(id);
  dead.set_kind(static_cast<std::uint32_t>(letter.kind));
  dead.set_quarantined(letter.quarantined);
  dead.set_epoch(letter.epoch);
  dead.set_error(letter.error);
}

}  // namespace tenure
