#include "machine/keys/dead_letters.h"

#include <algorithm>

#include "machine/answers/answers.h"
#include "machine/limits.h"
#include "tenure/v1/keys.pb.h"

namespace tenure {

void DeadLetters::bury(SlotId slot, bool quarantined, BytesView error) {
  const JobId id = state_.table.slots[slot].head;
  KeptJob& job = state_.table.jobs[id];
  slots_.set_progress(job, Progress::begun);  // what is dead does not wait for a handler
  const std::uint64_t epoch = state_.table.slots[slot].epoch;
  // A letter's id is the epoch of its last tenure, or the epoch that the next tenure of its shard would have. Epochs
  // are not repeated when the log loses its tail. So somebody who saw a letter in the lost part cannot retry or drop
  // another one.
  std::uint64_t letter = epoch;
  while (state_.dead.contains(letter)) letter += context_.config().shard.count;
  slots_.tell_failed(job, epoch, error);
  context_.effects().buried(context_.at(), state_.table.slots[slot].key, letter, quarantined);
  slots_.tell_stoppers(job);
  if (quarantined && !state_.past.empty() && state_.past.back().epoch == epoch) state_.past.back().quarantined = true;
  state_.dead[letter] = {.key = state_.table.slots[slot].key,
                         .kind = state_.table.slots[slot].kind,
                         .quarantined = quarantined,
                         .job = id,
                         .epoch = epoch,
                         .since_ms = context_.log_time_ms(),
                         .error = Bytes(error)};
  if (state_.table.slots[slot].kind == JobKind::resident) {
    slots_.set_state(slot, quarantined ? JobState::quarantined : JobState::dead);
    if (context_.shutting_down()) {
      state_.dead.erase(letter);
      line_.finish_head(slot);
    }
    return;
  }
  state_.table.pop_front(slot);
  state_.table.jobs[id].slot = kNone;
  ++state_.dead_tasks;
  if (state_.dead_tasks > kDeadTasksMax) drop_oldest_task();
  line_.next_job(slot);
}

void DeadLetters::bury_unheld(JobId id, BytesView key, BytesView error) {
  const std::uint64_t letter = context_.next_epoch(0);
  slots_.tell_failed(state_.table.jobs[id], 0, error);
  context_.effects().buried(context_.at(), key, letter, false);
  state_.dead[letter] = {.key = Bytes(key),
                         .kind = JobKind::task,
                         .quarantined = false,
                         .job = id,
                         .epoch = 0,
                         .since_ms = context_.log_time_ms(),
                         .error = Bytes(error)};
  ++state_.dead_tasks;
  if (state_.dead_tasks > kDeadTasksMax) drop_oldest_task();
}

void DeadLetters::drop_oldest_task() {
  const auto oldest = std::find_if(state_.dead.begin(), state_.dead.end(),
                                   [](const auto& entry) { return entry.second.kind == JobKind::task; });
  slots_.release_job(oldest->second.job);
  state_.dead.erase(oldest);
  --state_.dead_tasks;
  ++context_.stats.dead_dropped;
}

void DeadLetters::erase_letter_of(SlotId slot) {
  const auto letter = std::find_if(state_.dead.begin(), state_.dead.end(), [&](const auto& entry) {
    return entry.second.job == state_.table.slots[slot].head;
  });
  state_.dead.erase(letter);
}

void DeadLetters::forget_all() {
  for (const auto& [id, letter] : state_.dead) {
    if (letter.kind == JobKind::task) slots_.release_job(letter.job);
  }
  state_.dead.clear();
  state_.dead_tasks = 0;
}

void DeadLetters::on(const v1::RetryDead& record) {
  if (record.ticket() == 0) return context_.refuse_record();
  const auto refuse = [&](Errc why) { context_.answers().refuse(record.ticket(), record.answer_in_log(), why); };
  const auto found = state_.dead.find(record.id());
  if (found == state_.dead.end()) return refuse(Errc::no_such_key);
  if (context_.shutting_down()) return refuse(Errc::shutting_down);
  const DeadLetter letter = found->second;
  const std::uint64_t hash = hash_bytes(letter.key);
  SlotId slot = state_.table.find(letter.key, hash);
  if (letter.kind == JobKind::task && slot != kNone && state_.table.slots[slot].kind == JobKind::resident) {
    return refuse(Errc::key_exists);
  }
  state_.dead.erase(found);
  KeptJob& job = state_.table.jobs[letter.job];
  if (letter.kind == JobKind::resident) {
    slots_.touch(slot);
  } else {
    --state_.dead_tasks;
    if (slot == kNone) {
      slot = placement_.add_key(letter.key, hash, JobKind::task);
      placement_.ask_for_choice(slot);
    } else {
      slots_.touch(slot);
    }
    job.slot = slot;
    state_.table.push_back(slot, letter.job);
  }
  job.attempts = 0;
  Blame::acquit(job);
  slots_.tell_accepted(record.ticket(), record.answer_in_log(), slot);
  const JobState state = state_.table.slots[slot].state;
  if (state == JobState::idle || state == JobState::dead || state == JobState::quarantined) line_.next_job(slot);
}

void DeadLetters::on(const v1::DropDead& record) {
  if (record.ticket() == 0) return context_.refuse_record();
  const auto found = state_.dead.find(record.id());
  if (found == state_.dead.end()) {
    return context_.answers().refuse(record.ticket(), record.answer_in_log(), Errc::no_such_key);
  }
  context_.answers().settle({record.ticket(), TicketState::accepted, Errc{}, 0, {}, {}}, record.answer_in_log());
  if (found->second.kind == JobKind::resident) {
    const SlotId slot = state_.table.find(found->second.key);
    slots_.touch(slot);
    state_.dead.erase(found);
    line_.finish_head(slot);
  } else {
    --state_.dead_tasks;
    slots_.release_job(found->second.job);
    state_.dead.erase(found);
  }
}

}  // namespace tenure
