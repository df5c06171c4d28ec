#include "machine/machine.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

Machine::Machine(std::uint32_t speaks) : StateMachine(speaks, state_.frame, state_.sessions) {}

Machine::~Machine() { ASSERT(!snapshot_under_way_); }

void Machine::apply(const EntryView& entry, const v1::Batch* batch, Effects& effects) {
  FrameState& frame = state_.frame;
  ASSERT(entry.position > frame.position);
  context_.effects_ = &effects;
  frame.position = entry.position;
  if (frame.origin == 0) {
    frame.origin = hash_mix(hash_bytes(entry.data), static_cast<std::uint64_t>(entry.time_ms) ^ entry.position) | 1;
  }
  ++context_.stats.entries;
  advance_time(entry.time_ms);
  fire_timers();

  if (batch == nullptr) {
    ++context_.stats.entries_skipped;
  } else if (!frame.senders.accept(batch->sender(), batch->sequence(), frame.log_time_ms)) {
    ++context_.stats.batches_repeated;
  } else {
    for (const v1::Record& record : batch->records()) {
      apply_record(record);
      settle();
    }
  }
  context_.note(frame.position);
  context_.effects_ = nullptr;
}

void Machine::apply_record(const v1::Record& record) {
  ++context_.stats.records;
  switch (record.kind_case()) {
    case v1::Record::kTick:
    case v1::Record::kTold: return;
    case v1::Record::kConfigure: return configure(record.configure());
    case v1::Record::kSwitchVersion: return switch_version(record.switch_version());
    case v1::Record::kShutdown: return begin_shutdown();
    case v1::Record::kSaved: return context_.effects().saved(context_.at(), record.saved().position());
    case v1::Record::kAsk: return context_.effects().asked(context_.at(), record.ask());
    case v1::Record::kRestore: return put_back(record.restore());
    case v1::Record::kJoin: return join(record.join());
    case v1::Record::kBeat: return sessions_.on(record.beat());
    case v1::Record::kExpire: return end_session(sessions_.on(record.expire()));
    case v1::Record::kEnd: return end_session(sessions_.on(record.end()));
    case v1::Record::kAnswer: return answers_.on(record.answer());
    case v1::Record::kEmit:
    case v1::Record::kForgetSource: return on_source(record);
    case v1::Record::KIND_NOT_SET: ++context_.stats.records_unknown; return;
    default:
      if (restoration_.notes_jobs() && record.has_dispatch()) restoration_.note_job(record.dispatch().ticket());
      return keys_.on(record);
  }
}

void Machine::advance_time(std::int64_t engine_ms) {
  FrameState& frame = state_.frame;
  if (engine_ms <= frame.engine_ms) return;
  // The first entry sets the origin. The time before it does not count.
  if (frame.engine_ms != 0) frame.log_time_ms += std::min(engine_ms - frame.engine_ms, kLogTimeStepMsMax);
  frame.engine_ms = engine_ms;
}

void Machine::fire_timers() {
  MachineTimers& timers = state_.frame.timers;
  for (std::size_t fired = 0; fired < kTimersPerEntryMax; ++fired) {
    if (timers.empty() || timers.begin()->due_ms > state_.frame.log_time_ms) return;
    const MachineTimer timer = *timers.begin();
    timers.erase(timers.begin());
    context_.note(timer.stamp);
    keys_.fire(timer);
    settle();
  }
}

void Machine::settle() {
  if (keys_.partitions_due()) keys_.settle_partitions(restoration_.is_undecided());
  keys_.settle();
  if (state_.frame.shutting_down) check_end();
}

void Machine::join(const v1::Join& record) {
  if (!sessions_.on(record, gone(), version())) return;
  if (state_.sessions.ages == 1) create(record.speaks());
  if (!configured()) configure(record.configure());
  if (state_.sessions.chooser == record.session()) keys_.chooser_changed();
  restoration_.joined(state_.sessions.find(record.session())->newcomer);
  if (state_.sessions.all.size() == 1) answers_.repeat();  // until now no node could write them
}

void Machine::end_session(const std::optional<EndedSession>& ended) {
  if (!ended) return;
  const bool was_eldest = state_.sessions.eldest()->id == ended->id;
  const std::uint64_t chooser = state_.sessions.chooser;
  context_.note(ended->id);
  keys_.session_ended(*ended);
  sessions_.end(*ended);
  if (state_.sessions.chooser != chooser) keys_.chooser_changed();
  restoration_.session_ended(ended->id);
  // The next eldest node writes the answers that the last one did not.
  if (was_eldest) answers_.repeat();
}

void Machine::configure(const v1::Configure& record) {
  if (record.unless_configured() && configured()) return;
  const PoolConfig before = config();
  state_.frame.configured = true;
  apply_config(record, state_.frame.config);
  if (!context_.rule(Rule::ranks)) state_.frame.config.ring = before.ring;
  if (config().assignment != before.assignment) keys_.assignment_changed();
  if (config().ring != before.ring) keys_.ring_changed(before.ring);
}

void Machine::put_back(const v1::Restore& record) {
  if (restoration_.brings_options(record)) configure(record.configure());
  restoration_.on(record);
}

// Version 1 knows no sources, and skips these records.
void Machine::on_source(const v1::Record& record) {
  if (!context_.rule(Rule::sources)) {
    ++context_.stats.records_unknown;
  } else if (record.has_forget_source()) {
    sources_.on(record.forget_source());
  } else {
    for (const v1::Dispatch* task : sources_.on(record.emit(), restoration_.is_undecided())) {
      if (restoration_.notes_jobs()) restoration_.note_job(task->ticket());
    }
  }
}

void Machine::switch_version(const v1::SwitchVersion& record) {
  if (record.to() <= version() || state_.sessions.all.empty() || !sessions_.all_speak(record.to())) {
    return context_.refuse_record();
  }
  set_version(record.to());
}

// A new pool has the rules of the node that joins it first.
void Machine::create(std::uint32_t speaks) {
  if (speaks > version()) set_version(speaks);
  if (!context_.rule(Rule::takes)) keys_.forget_types();
}

void Machine::set_version(std::uint32_t version) {
  state_.frame.version = version;
  context_.note(version);
  context_.effects().version_switched(context_.at(), version);
}

// Members leave when nothing is left to do. When the last one leaves, the pool ends.
void Machine::begin_shutdown() {
  if (shutting_down()) return context_.refuse_record();
  state_.frame.shutting_down = true;
  context_.note(position());
  context_.effects().shutdown_began(context_.at());
  keys_.begin_shutdown();
}

void Machine::check_end() {
  if (!drained() || gone()) return;
  if (!std::exchange(told_drained_, true)) context_.effects().shutdown_drained(context_.at());
  if (!state_.sessions.all.empty()) return;
  state_.frame.gone = true;
  context_.note(position());
  context_.effects().pool_gone(context_.at());
}

std::unique_ptr<SnapshotSource> Machine::begin_snapshot() {
  ASSERT(context_.effects_ == nullptr);
  return std::make_unique<StateSnapshot>(state_, keys_.slots(), snapshot_under_way_);
}

// Keeps what belongs to this process only.
Status Machine::restore(const std::vector<Bytes>& chunks) {
  ASSERT(!snapshot_under_way_);
  Result<MachineState> loaded = load_snapshot(chunks, speaks());
  if (!loaded) return Failure(loaded.error());
  state_ = std::move(*loaded);
  keys_.restored();
  told_drained_ = drained();
  return {};
}

}  // namespace tenure
