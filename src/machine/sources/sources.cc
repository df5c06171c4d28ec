#include "machine/sources/sources.h"

#include <algorithm>
#include <string>
#include <tenure/emit_limits.hpp>
#include <utility>

#include "base/mutant.h"
#include "machine/answers/answers.h"
#include "machine/context.h"
#include "machine/keys/keys.h"
#include "machine/limits.h"
#include "machine/load.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

static_assert(kEmitBytesMax > kPayloadBytesMax + kKeyBytesMax + kTypeBytesMax, "any task can be emitted");

std::uint64_t position_of(const v1::EmittedTask& task, const v1::Emit& record) {
  return task.position() != 0 ? task.position() : record.position();
}

bool is_loss(const v1::LostEvents& lost, std::uint64_t position) {
  return lost.first() != 0 && lost.first() <= lost.last() && lost.last() <= position && lost.count() != 0 &&
         lost.count() <= lost.last() - lost.first() + 1;
}

// The library checks the same before it writes a record. This is for records of others.
bool is_valid(const v1::Emit& record) {
  if (record.source().empty() || record.source().size() > kSourceBytesMax) return false;
  if (record.key().empty() || record.key().size() > kKeyBytesMax || record.epoch() > kEpochFloorMax) return false;
  if (record.position() > kEmitPositionMax || record.after() > kEmitPositionMax) return false;
  if (record.tasks_size() != 0 && record.position() == 0) return false;
  if (static_cast<std::size_t>(record.tasks_size()) > kEmitTasksMax) return false;
  if (record.has_lost() && !is_loss(record.lost(), record.position())) return false;
  if (record.end() > kEmitPositionMax || record.trouble().size() > kTroubleBytesMax) return false;
  if (record.checkpoint().size() > kBlobBytesMax) return false;
  std::size_t bytes = 0;
  for (const v1::EmittedTask& task : record.tasks()) {
    if (position_of(task, record) > record.position() || !Requests::is_task(task.task())) return false;
    if (task.error().size() > kErrorBytesMax) return false;
    bytes += task.task().key().size() + task.task().payload().size() + task.task().type().size();
  }
  return bytes <= kEmitBytesMax;
}

// Those that the shard does not have yet.
std::vector<const v1::EmittedTask*> new_tasks(const v1::Emit& record, std::uint64_t have) {
  std::vector<const v1::EmittedTask*> tasks;
  for (const v1::EmittedTask& task : record.tasks()) {
    if (position_of(task, record) > have || MUTANT(emit_position_ignored)) tasks.push_back(&task);
  }
  return tasks;
}

// Of them, those that have to wait in the queue.
std::vector<const v1::Dispatch*> queued(const std::vector<const v1::EmittedTask*>& tasks) {
  std::vector<const v1::Dispatch*> all;
  all.reserve(tasks.size());
  for (const v1::EmittedTask* task : tasks) {
    if (task->error().empty()) all.push_back(&task->task());
  }
  return all;
}

// How many of the lost events lie behind this position.
std::uint64_t lost_behind(const v1::LostEvents& lost, std::uint64_t position) {
  if (MUTANT(emit_loss_counted_again)) return lost.count();
  return lost.last() <= position ? 0 : std::min(lost.count(), lost.last() - std::max(lost.first() - 1, position));
}

bool is_sound(const v1::SourceState& source) {
  return !source.name().empty() && source.name().size() <= kSourceBytesMax && source.key().size() <= kKeyBytesMax &&
         std::max({source.position(), source.epoch(), source.tasks(), source.buried(), source.lost(), source.end(),
                   source.last_lost().first(), source.last_lost().last(), source.last_lost().count()}) <= kCountMax &&
         source.buried() <= source.tasks() && source.trouble().size() <= kTroubleBytesMax;
}

void save_source(const Bytes& name, const Source& source, v1::SourceState& into) {
  into.set_name(name);
  into.set_position(source.position);
  into.set_epoch(source.epoch);
  into.set_key(source.key);
  into.set_tasks(source.tasks);
  into.set_buried(source.buried);
  into.set_end(source.end);
  into.set_trouble(source.trouble);
  if (source.lost == 0) return;
  into.set_lost(source.lost);
  into.set_lost_ms(source.lost_ms);
  into.mutable_last_lost()->set_first(source.lost_first);
  into.mutable_last_lost()->set_last(source.lost_last);
  into.mutable_last_lost()->set_count(source.lost_count);
}

Source load_source(const v1::SourceState& from) {
  return {.position = from.position(),
          .epoch = from.epoch(),
          .key = from.key(),
          .tasks = from.tasks(),
          .buried = from.buried(),
          .lost = from.lost(),
          .lost_first = from.last_lost().first(),
          .lost_last = from.last_lost().last(),
          .lost_count = from.last_lost().count(),
          .lost_ms = from.lost_ms(),
          .end = from.end(),
          .trouble = from.trouble()};
}

}  // namespace

std::optional<Sources::Refusal> Sources::judge(const v1::Emit& record, bool undecided, const Source* known) const {
  if (!is_valid(record)) return Refusal{Errc::invalid, "the emit is malformed, or over a limit"};
  if (context_.shutting_down()) return Refusal{Errc::shutting_down, {}};
  if (undecided) return Refusal{Errc::busy, "the log has lost everything, and members may put it back"};
  const bool home = is_home(record);
  const bool older = known != nullptr && record.epoch() < known->epoch;
  if (((home && !context_.keys().holds(record.key(), record.epoch())) || older) && !MUTANT(emit_of_any_epoch)) {
    return Refusal{Errc::refused, "the tenure that emits is over"};
  }
  const std::uint64_t have = known == nullptr ? 0 : known->position;
  if (record.after() > have && !MUTANT(emit_gap_accepted)) {
    return Refusal{Errc::lost_history, "the log has the source up to " + std::to_string(have) +
                                           " only, and had it up to " + std::to_string(record.after())};
  }
  if (known == nullptr && state_.by_name.size() >= kSourcesMax) {
    return Refusal{Errc::pool_full, "the pool has " + std::to_string(kSourcesMax) + " sources: forget some"};
  }
  if (record.position() <= have) return {};
  const Requests::Room room = context_.keys().room_for(queued(new_tasks(record, have)));
  if (room.code == Errc{} || MUTANT(emit_taken_in_part)) return {};
  return Refusal{room.code, room.why};
}

bool Sources::is_home(const v1::Emit& record) const {
  const Shard& shard = context_.config().shard;
  return shard_of(record.key(), shard.count) == shard.index;
}

std::vector<const v1::Dispatch*> Sources::on(const v1::Emit& record, bool undecided) {
  if (record.ticket() == 0) {
    context_.refuse_record();
    return {};
  }
  const auto found = state_.by_name.find(record.source());
  const Source* known = found == state_.by_name.end() ? nullptr : &found->second;
  if (const auto refusal = judge(record, undecided, known)) {
    context_.answers().refuse(record.ticket(), false, refusal->code, refusal->why);
    return {};
  }
  Source& source = state_.by_name[record.source()];
  if (record.epoch() >= source.epoch) source.key = record.key();
  source.epoch = std::max(source.epoch, record.epoch());
  std::vector<const v1::Dispatch*> taken = take_in(record, source);
  if (is_home(record)) note_report(record, source);
  context_.note(hash_bytes(record.source()) ^ source.position);
  context_.answers().settle({.ticket = record.ticket(),
                             .state = TicketState::done,
                             .code = Errc{},
                             .epoch = source.epoch,
                             .worker = {},
                             .text = std::to_string(source.position)},
                            false);
  return taken;
}

std::vector<const v1::Dispatch*> Sources::take_in(const v1::Emit& record, Source& source) {
  const std::uint64_t before = source.position;
  const bool repeated = record.position() <= before;
  if (repeated && (record.position() == 0 || !MUTANT(emit_position_ignored))) return {};
  const std::vector<const v1::EmittedTask*> fresh = new_tasks(record, before);
  std::vector<const v1::Dispatch*> tasks;
  tasks.reserve(fresh.size());
  std::uint64_t buried = 0;
  for (const v1::EmittedTask* emitted : fresh) {
    const v1::Dispatch& task = emitted->task();
    tasks.push_back(&task);
    if (MUTANT(emit_taken_in_part) && context_.keys().room_for({&task}).code != Errc{}) continue;
    buried += context_.keys().take_in(task, emitted->error()) ? 0 : 1;
  }
  const std::uint64_t lost = is_home(record) && record.has_lost() ? lost_behind(record.lost(), before) : 0;
  if (lost != 0) note_loss(record.lost(), lost, before, source);
  source.position = std::max(before, record.position());
  source.tasks = std::min(source.tasks + tasks.size(), kCountMax);
  source.buried = std::min(source.buried + buried, source.tasks);
  ++context_.stats.emits;
  context_.stats.emitted_tasks += tasks.size();
  context_.effects().emitted(context_.at(), {.source = record.source(),
                                             .key = record.key(),
                                             .epoch = record.epoch(),
                                             .before = before,
                                             .position = source.position,
                                             .tasks = tasks.size(),
                                             .buried = buried,
                                             .lost = lost});
  return tasks;
}

// `before`: what lies up to there was read, or counted already.
void Sources::note_loss(const v1::LostEvents& lost, std::uint64_t count, std::uint64_t before, Source& source) {
  source.lost = std::min(source.lost + count, kCountMax);
  source.lost_first = std::max(lost.first(), before + 1);
  source.lost_last = lost.last();
  source.lost_count = count;
  source.lost_ms = context_.log_time_ms();
}

// What the emit says besides. It was not refused, so its tenure holds the key.
void Sources::note_report(const v1::Emit& record, Source& source) {
  if (record.end() != 0) source.end = record.end();
  if (record.has_trouble()) source.trouble = record.trouble();
  if (record.has_checkpoint() && context_.keys().holds(record.key(), record.epoch())) {
    context_.keys().set_checkpoint(record.key(), record.checkpoint());
  }
}

void Sources::on(const v1::ForgetSource& record) {
  if (record.ticket() == 0) return context_.refuse_record();
  const auto found = state_.by_name.find(record.source());
  if (found == state_.by_name.end()) {
    return context_.answers().refuse(record.ticket(), record.answer_in_log(), Errc::no_such_key,
                                     "the pool has no such source");
  }
  context_.note(hash_bytes(record.source()));
  context_.effects().source_forgotten(context_.at(), record.source());
  state_.by_name.erase(found);
  context_.answers().settle({record.ticket(), TicketState::accepted, Errc{}, 0, {}, {}}, record.answer_in_log());
}

// A person's request brings only what the log does not have.
void Sources::put_back(const v1::Restore& record) {
  if (!context_.rule(Rule::sources) || MUTANT(restore_forgets_sources)) return;
  for (const v1::SourceState& from : record.sources()) {
    if (!is_sound(from)) continue;
    const auto found = state_.by_name.find(from.name());
    const bool there = found != state_.by_name.end();
    if (there && (record.on_request() || found->second.position >= from.position())) continue;
    if (!there && state_.by_name.size() >= kSourcesMax) continue;
    Source& source = state_.by_name[from.name()];
    const Source present = std::exchange(source, load_source(from));
    if (present.epoch > source.epoch) {
      source.epoch = present.epoch;
      source.key = present.key;
    }
    context_.note(hash_bytes(from.name()) ^ source.position);
    context_.effects().source_restored(context_.at(), from.name(), source.position);
  }
}

void Sources::lower(const v1::Restore& record) {
  if (!context_.rule(Rule::sources) || MUTANT(restore_forgets_sources)) return;
  for (const v1::SourceState& from : record.sources()) {
    const auto found = state_.by_name.find(from.name());
    if (!is_sound(from) || found == state_.by_name.end() || found->second.position <= from.position()) continue;
    found->second.position = from.position();
    context_.note(hash_bytes(from.name()) ^ from.position());
    context_.effects().source_restored(context_.at(), from.name(), from.position());
  }
}

void save_sources(const SourcesState& sources, v1::SourcesState& into) {
  for (const auto& [name, source] : sources.by_name) save_source(name, source, *into.add_sources());
}

bool load_sources(const v1::SourcesState& from, SourcesState& into) {
  for (const v1::SourceState& source : from.sources()) {
    if (!is_sound(source) || !into.by_name.emplace(source.name(), load_source(source)).second) return false;
  }
  return into.by_name.size() <= kSourcesMax;
}

}  // namespace tenure
