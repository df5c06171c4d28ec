#include "machine/keys/partitions.h"

#include <algorithm>
#include <string>
#include <vector>

#include "machine/answers/answers.h"
#include "machine/limits.h"
#include "machine/own_names.h"
#include "tenure/v1/keys.pb.h"

namespace tenure {

void Partitions::on(const v1::SetPartitions& record) {
  if (!context_.rule(Rule::ranks)) {
    ++context_.stats.records_unknown;
    return;
  }
  if (record.ticket() == 0) return context_.refuse_record();
  const auto refuse = [&](Errc code, BytesView why) {
    context_.answers().refuse(record.ticket(), record.answer_in_log(), code, why);
  };
  if (context_.shutting_down()) return refuse(Errc::shutting_down, {});
  const std::uint32_t before = context_.config().ring.partitions;
  if (before == 0) return refuse(Errc::no_such_key, "the pool has no partitions: its first ranked worker brings them");
  Ring ring;
  if (!load_ring(record.ring(), ring)) {
    return refuse(Errc::invalid, "a pool has 1 to " + std::to_string(kPartitionsMax) +
                                     " partitions, and each has fewer secondaries than there are partitions");
  }
  set(ring);
  context_.answers().settle({.ticket = record.ticket(),
                             .state = TicketState::accepted,
                             .code = Errc{},
                             .epoch = 0,
                             .worker = {},
                             .text = std::to_string(before)},
                            record.answer_in_log());
}

bool Partitions::may_begin() const {
  const Slab<Slot>& slots = state_.table.slots;
  for (SlotId slot = 0; slot < slots.end(); ++slot) {
    if (slots[slot].live && slots[slot].key.starts_with(kPartitionKeys)) return false;
  }
  return state_.types.has_room_for(kPartitionType);
}

void Partitions::set(const Ring& ring) {
  const Ring before = context_.config().ring;
  context_.set_ring(ring);
  ring_changed(before);
}

void Partitions::ring_changed(const Ring& before) {
  const Ring& ring = context_.config().ring;
  if (ring == before) return;
  context_.note(hash_mix(ring.parts(), ring.secondaries));
  context_.effects().partitions_set(context_.at(), ring);
  if (before.partitions == 0) ranks_.rebuild();
  state_.partitions_due = true;
  for (const WorkerIx ix : state_.workers.by_age) ranks_.watch(ix);
  if (ring.parts() != before.parts()) return;
  for (const SlotId slot : state_.partitions) {
    if (slot != kNone) ranks_.is_lent(slot) ? placement_.lend(slot, kNone) : placement_.rechoose(slot);
  }
}

bool Partitions::is_current(SlotId slot) const {
  const Slot& entry = state_.table.slots[slot];
  const std::uint32_t parts = context_.config().ring.parts();
  return entry.partition < parts && state_.table.jobs[entry.head].payload == std::to_string(parts);
}

void Partitions::bring_about() {
  if (!end_others()) return;
  bool complete = true;
  for (std::uint32_t partition = 0; partition < context_.config().ring.parts(); ++partition) {
    const bool there = partition < state_.partitions.size() && state_.partitions[partition] != kNone;
    if (!there) make(partition);
    // One that stops is made again when it has stopped.
    const bool made = partition < state_.partitions.size() && state_.partitions[partition] != kNone;
    complete = complete && made && !slots_.is_stopping(state_.partitions[partition]);
  }
  state_.partitions_due = !complete;
}

// True if no partition of another number is left.
bool Partitions::end_others() {
  bool none_left = true;
  for (std::size_t i = 0; i < state_.partitions.size(); ++i) {
    if (state_.partitions[i] == kNone || is_current(state_.partitions[i])) continue;
    if (!slots_.is_stopping(state_.partitions[i])) requests_.end_key(state_.partitions[i]);
    none_left = none_left && (state_.partitions[i] == kNone || MUTANT(partitions_of_two_numbers));
  }
  return none_left;
}

void Partitions::make(std::uint32_t partition) {
  if (!state_.types.has_room_for(kPartitionType)) return;  // as soon as there is room
  v1::Dispatch record;
  record.set_ticket(hash_mix(hash_mix(context_.position(), context_.next_stamp()), partition) | 1);
  record.set_kind(v1::RESIDENT);
  record.set_key(partition_key(partition));
  record.set_type(Bytes(kPartitionType));
  record.set_payload(std::to_string(context_.config().ring.parts()));
  record.set_max_attempts(UINT16_MAX);
  context_.effects().partition_made(context_.at(), record.key(), record.ticket());
  const SlotId slot = requests_.add_own(record);
  // As if it had run before: where its start fails, it is tried again. It takes no room in the users' queue.
  KeptJob& job = state_.table.head(slot);
  job.ran = true;
  slots_.set_progress(job, Progress::begun);
}

}  // namespace tenure
