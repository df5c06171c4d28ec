#include "machine/keys/restorer.h"

#include <algorithm>

#include "base/mutant.h"
#include "machine/keys/keys_snapshot.h"
#include "machine/limits.h"
#include "machine/load.h"
#include "tenure/v1/restore.pb.h"

namespace tenure {
namespace {

// Any writer of the log can have written the record. A job that could never have been accepted is left out.
bool is_sound(const v1::RememberedJob& from) {
  const v1::JobState& job = from.job();
  std::size_t message_bytes = 0;
  for (const Bytes& text : job.messages()) message_bytes += text.size();
  return job_content_fits(job) && job.ticket() != 0 && job.payload().size() <= kPayloadBytesMax &&
         job.checkpoint().size() <= kBlobBytesMax && job.max_attempts() <= UINT16_MAX && job.attempts() <= UINT16_MAX &&
         job.crashes() <= UINT16_MAX && static_cast<std::size_t>(job.messages_size()) <= kMessagesMax &&
         message_bytes <= kMessagesBytesMax && job.last_message() < kCountMax && job.error().size() <= kErrorBytesMax &&
         from.delay_ms() >= 0 && from.delay_ms() <= static_cast<std::int64_t>(kDelayMsMax);
}

bool is_sound(const v1::RememberedKey& key) {
  return !key.key().empty() && key.key().size() <= kKeyBytesMax && key.epoch() <= kEpochFloorMax &&
         key.kind() <= static_cast<std::uint32_t>(JobKind::task) && key.retry_ms() >= 0 &&
         key.retry_ms() <= static_cast<std::int64_t>(kDelayMsMax);
}

JobKind kind_of(const v1::RememberedKey& key) { return static_cast<JobKind>(key.kind()); }

bool is_delayed(const v1::RememberedJob& from) {
  return from.job().progress() == static_cast<std::uint32_t>(Progress::delayed);
}

}  // namespace

Restorer::Count Restorer::put_back(const v1::RememberedKey& key, const Case& how) {
  const auto all = static_cast<std::uint64_t>(key.jobs_size());
  if (!is_sound(key)) return {.back = 0, .left_out = all};
  const std::uint64_t hash = hash_bytes(key.key());
  SlotId slot = state_.table.find(key.key(), hash);
  const bool added = slot == kNone;
  const bool joined = added || joins(key, slot, how);
  if (!added) slots_.touch(slot);
  const bool held_back = how.partial && !added && state_.table.slots[slot].state == JobState::waiting;
  Count count;
  for (const v1::RememberedJob& from : key.jobs()) {
    if (how.there.contains(from.job().ticket())) continue;
    if (how.back.contains(from.job().ticket()) && !MUTANT(restore_brings_jobs_again)) continue;
    // A key may have a resident and tasks that are dead.
    const bool of_task =
        kind_of(key) == JobKind::task || from.letter().kind() == static_cast<std::uint32_t>(JobKind::task);
    const bool dead_task = from.has_letter() && of_task;
    if (dead_task && how.on_request && has_letter(key, from)) continue;
    const bool put = dead_task ? put_dead_task(key, from) : joined && put_job(key, from, slot, hash);
    ++(put ? count.back : count.left_out);
    if (put) {
      context_.effects().job_restored(context_.at(), key.key(), from.job().ticket(), from.has_letter());
    }
  }
  context_.note(hash);
  // Also a resident's key, which nothing joins, if the rest of it was put beside it: a dead task, say.
  if ((joined || (held_back && !MUTANT(restore_leaves_key_cut))) && slot != kNone) go_on(key, slot, added, held_back);
  return count;
}

// Tasks share a key, but not what a person has begun in it since.
bool Restorer::joins(const v1::RememberedKey& key, SlotId slot, const Case& how) const {
  if (kind_of(key) != JobKind::task || state_.table.slots[slot].kind != JobKind::task) return false;
  return how.partial || !how.on_request;
}

bool Restorer::put_job(const v1::RememberedKey& key, const v1::RememberedJob& from, SlotId& slot, std::uint64_t hash) {
  if (!is_sound(from)) return false;
  const bool resident = kind_of(key) == JobKind::resident;
  if (resident && slot != kNone && state_.table.slots[slot].head != kNone) return false;
  if (slot == kNone) {
    slot = placement_.add_key(key.key(), hash, kind_of(key));
    state_.table.slots[slot].epoch = std::min(key.epoch(), context_.epoch_last());
    state_.table.slots[slot].past = key.epoch() != 0 ? Past::forgotten : Past::none;
  }
  const bool delayed = resident ? key.retry_ms() > 0 && is_delayed(from) : from.delay_ms() > 0;
  const JobId id = add_job(from, slot, delayed);
  if (delayed && !resident) {
    line_.add_delayed(slot, id, from.delay_ms());
    return true;
  }
  state_.table.push_back(slot, id);
  if (from.has_letter()) bury(key, from, id, kind_of(key));
  return true;
}

// The log may have the letter too, where it goes on with a state of its own.
bool Restorer::has_letter(const v1::RememberedKey& key, const v1::RememberedJob& from) const {
  const auto found = state_.dead.find(from.letter().id());
  return found != state_.dead.end() && found->second.key == key.key();
}

bool Restorer::put_dead_task(const v1::RememberedKey& key, const v1::RememberedJob& from) {
  if (!is_sound(from) || state_.dead_tasks >= kDeadTasksMax || MUTANT(restore_forgets_dead)) return false;
  const JobId id = add_job(from, kNone, false);
  ++state_.dead_tasks;
  bury(key, from, id, JobKind::task);
  return true;
}

void Restorer::bury(const v1::RememberedKey& key, const v1::RememberedJob& from, JobId job, JobKind kind) {
  slots_.set_progress(state_.table.jobs[job], Progress::begun);
  std::uint64_t letter = std::min(from.letter().id(), kEpochFloorMax);
  while (state_.dead.contains(letter)) letter += context_.config().shard.count;
  state_.dead[letter] = {.key = key.key(),
                         .kind = kind,
                         .quarantined = from.letter().quarantined(),
                         .job = job,
                         .epoch = std::min(from.letter().epoch(), context_.epoch_last()),
                         .since_ms = context_.log_time_ms(),
                         .error = from.letter().error().substr(0, kErrorBytesMax)};
  if (kind == JobKind::task) return;
  slots_.set_state(state_.table.jobs[job].slot, from.letter().quarantined() ? JobState::quarantined : JobState::dead);
}

// A pool whose rules know no types has none, as in a dispatch. A job is kept even if its type has no room.
BytesView Restorer::type_of(const v1::RememberedJob& from) const {
  const bool known = context_.rule(Rule::takes) || context_.may_come(Rule::takes);
  const bool kept = known && from.type().size() <= kTypeBytesMax && state_.types.has_room_for(from.type());
  return kept ? BytesView(from.type()) : BytesView();
}

JobId Restorer::add_job(const v1::RememberedJob& from, SlotId slot, bool delayed) {
  const JobId id = state_.table.jobs.add();
  KeptJob& job = state_.table.jobs[id];
  load_job_content(from.job(), job);
  job.slot = slot;
  job.type = state_.types.add(type_of(from));
  state_.bytes += content_bytes(job);
  const Progress progress = delayed ? Progress::delayed : std::max(job.progress, Progress::queued);
  job.progress = Progress::begun;  // counted by none yet
  slots_.set_progress(job, progress);
  return id;
}

// A key of which more is to come waits for it, so that its jobs run in their order and none runs twice if another
// member has to go on.
void Restorer::go_on(const v1::RememberedKey& key, SlotId slot, bool added, bool held_back) {
  const Slot& entry = state_.table.slots[slot];
  const bool fresh_line = added && entry.state == JobState::idle && entry.head != kNone;
  const std::int64_t wait_ms = key.more() ? kRestoreHoldMs : key.retry_ms();
  // The key was added before its first job had a type.
  if (added) placement_.head_changed(slot);
  if (held_back && !key.more() && key.retry_ms() > 0) {
    slots_.set_state(slot, JobState::waiting);  // ends the timer of the hold
    slots_.set_timer(slot, TimerKind::retry, context_.log_time_ms() + key.retry_ms());
  } else if (fresh_line && wait_ms > 0) {
    slots_.set_state(slot, JobState::waiting);
    slots_.set_timer(slot, TimerKind::retry, context_.log_time_ms() + wait_ms);
  } else if (fresh_line || (held_back && !key.more()) || (entry.state == JobState::idle && entry.head != kNone)) {
    line_.next_job(slot);
  }
  if (added) placement_.ask_for_choice(slot);
}

void Restorer::let_go(BytesView key) {
  const SlotId slot = state_.table.find(key, hash_bytes(key));
  if (slot == kNone || state_.table.slots[slot].state != JobState::waiting) return;
  slots_.touch(slot);
  line_.next_job(slot);
}

}  // namespace tenure
