#pragma once

// Records as a node would write them, with one short call each.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "machine/config.h"
#include "machine/limits.h"
#include "machine/rules.h"
#include "machine/takes.h"
#include "tenure/v1/record.pb.h"

namespace tenure::test::rec {

using v1::Record;

inline Record join(std::uint64_t session, std::uint32_t speaks = kMachineVersion, bool chooses = false) {
  Record record;
  v1::Join& join = *record.mutable_join();
  join.set_session(session);
  join.set_node("node");
  join.set_lease_ms(10'000);
  join.set_speaks(speaks);
  join.set_chooses(chooses);
  return record;
}

inline Record beat(std::uint64_t session, std::uint64_t number = 1, std::uint32_t speaks = 1) {
  Record record;
  record.mutable_beat()->set_session(session);
  record.mutable_beat()->set_number(number);
  record.mutable_beat()->set_speaks(speaks);
  return record;
}

inline Record expire(std::uint64_t session, std::uint64_t last_beat) {
  Record record;
  record.mutable_expire()->set_session(session);
  record.mutable_expire()->set_last_beat(last_beat);
  return record;
}

inline Record end(std::uint64_t session, v1::End::Reason reason = v1::End::LEFT) {
  Record record;
  record.mutable_end()->set_session(session);
  record.mutable_end()->set_reason(reason);
  return record;
}

// As a guard reports it: the tenures whose handlers brought the process down.
inline Record crash(std::uint64_t session, const std::vector<std::uint64_t>& culprits, BytesView evidence = "SIGSEGV") {
  Record record = end(session, v1::End::CRASHED);
  for (const std::uint64_t epoch : culprits) record.mutable_end()->add_culprits(epoch);
  if (!culprits.empty()) record.mutable_end()->set_evidence(Bytes(evidence));
  return record;
}

struct WorkerSpec {
  std::uint32_t weight = 0;
  std::uint32_t window = 0;
  Bytes replaces = {};
  std::vector<Bytes> serves = {};
  Takes takes = {};
  bool isolates = false;
  bool helps = false;
  Ring ring = {};  // of a ranked worker
  std::uint32_t ordinal = kNoOrdinal;
};

// What a worker takes, from texts like "task" and "resident:x".
inline Takes takes_of(const std::vector<Bytes>& texts) {
  Takes takes = Takes::nothing();
  for (const Bytes& text : texts) {
    const std::size_t colon = text.find(':');
    const JobKind kind = text.substr(0, colon) == "task" ? JobKind::task : JobKind::resident;
    colon == Bytes::npos ? takes.add_all(kind) : takes.add_type(kind, text.substr(colon + 1));
  }
  return takes;
}

inline Record add_worker(std::uint64_t session, BytesView worker, const WorkerSpec& spec = {}) {
  Record record;
  const bool ranked = spec.ring.partitions != 0;
  v1::AddWorker& add = ranked                    ? *record.mutable_add_ranked()
                       : spec.takes.everything() ? *record.mutable_add_worker()
                                                 : *record.mutable_add_taker();
  if (ranked) encode_ring(spec.ring, *add.mutable_ring());
  add.set_ordinal_plus_one(spec.ordinal + 1);
  add.set_session(session);
  add.set_worker(Bytes(worker));
  add.set_isolates(spec.isolates);
  add.set_helps(spec.helps);
  add.set_weight(spec.weight);
  add.set_window(spec.window);
  add.set_replaces(spec.replaces);
  for (const Bytes& key : spec.serves) add.add_serves(key);
  spec.takes.save(*add.mutable_takes());
  return record;
}

inline Record set_partitions(std::uint64_t ticket, const Ring& ring) {
  Record record;
  record.mutable_set_partitions()->set_ticket(ticket);
  encode_ring(ring, *record.mutable_set_partitions()->mutable_ring());
  return record;
}

inline Record remove_worker(std::uint64_t session, BytesView worker) {
  Record record;
  record.mutable_remove_worker()->set_session(session);
  record.mutable_remove_worker()->set_worker(Bytes(worker));
  return record;
}

inline Record drain(BytesView worker, bool leaving = false) {
  Record record;
  record.mutable_drain()->set_leaving(leaving);
  record.mutable_drain()->set_worker(Bytes(worker));
  return record;
}

inline Record serve(std::uint64_t session, BytesView worker, const std::vector<Bytes>& add,
                    const std::vector<Bytes>& remove = {}) {
  Record record;
  v1::Serve& serve = *record.mutable_serve();
  serve.set_session(session);
  serve.set_worker(Bytes(worker));
  for (const Bytes& key : add) serve.add_add(key);
  for (const Bytes& key : remove) serve.add_remove(key);
  return record;
}

// In the name of the session that chooses, for the workers that there are: see TestPool::choice().
inline Record choose(BytesView key, BytesView worker, std::uint64_t session, std::uint64_t round) {
  Record record;
  record.mutable_choose()->set_key(Bytes(key));
  record.mutable_choose()->set_worker(Bytes(worker));
  record.mutable_choose()->set_session(session);
  record.mutable_choose()->set_round(round);
  return record;
}

struct JobSpec {
  Bytes payload = {};
  std::uint64_t delay_ms = 0;
  std::uint32_t max_attempts = 0;
  bool answer_in_log = false;
  Bytes type = {};
};

inline Record dispatch(std::uint64_t ticket, v1::Kind kind, BytesView key, const JobSpec& spec = {}) {
  Record record;
  v1::Dispatch& dispatch = *record.mutable_dispatch();
  dispatch.set_ticket(ticket);
  dispatch.set_kind(kind);
  dispatch.set_key(Bytes(key));
  dispatch.set_payload(spec.payload);
  dispatch.set_delay_ms(spec.delay_ms);
  dispatch.set_max_attempts(spec.max_attempts);
  dispatch.set_answer_in_log(spec.answer_in_log);
  dispatch.set_type(spec.type);
  return record;
}

// Tasks of a source: the position of the event, zero for that of the emit, and the job.
struct EmitSpec {
  Bytes source;
  Bytes key;
  std::uint64_t epoch;
  std::uint64_t position = 0;
  std::uint64_t after = 0;
  std::vector<std::pair<std::uint64_t, Record>> tasks = {};
  v1::Emit report = {};  // what a feeder says besides
};

inline Record emit(std::uint64_t ticket, const EmitSpec& spec) {
  Record record;
  v1::Emit& emit = *record.mutable_emit();
  emit = spec.report;
  emit.set_ticket(ticket);
  emit.set_source(spec.source);
  emit.set_key(spec.key);
  emit.set_epoch(spec.epoch);
  emit.set_after(spec.after);
  emit.set_position(spec.position);
  for (const auto& [position, task] : spec.tasks) {
    v1::EmittedTask& emitted = *emit.add_tasks();
    emitted.set_position(position);
    *emitted.mutable_task() = task.dispatch();
  }
  return record;
}

inline Record forget_source(std::uint64_t ticket, BytesView source, bool answer_in_log = false) {
  Record record;
  record.mutable_forget_source()->set_ticket(ticket);
  record.mutable_forget_source()->set_source(Bytes(source));
  record.mutable_forget_source()->set_answer_in_log(answer_in_log);
  return record;
}

inline Record notify(std::uint64_t ticket, BytesView key, BytesView message, bool answer_in_log = false) {
  Record record;
  record.mutable_notify()->set_ticket(ticket);
  record.mutable_notify()->set_key(Bytes(key));
  record.mutable_notify()->set_message(Bytes(message));
  record.mutable_notify()->set_answer_in_log(answer_in_log);
  return record;
}

inline Record stop(std::uint64_t ticket, BytesView key, bool answer_in_log = false) {
  Record record;
  record.mutable_stop()->set_ticket(ticket);
  record.mutable_stop()->set_key(Bytes(key));
  record.mutable_stop()->set_answer_in_log(answer_in_log);
  return record;
}

inline Record retry_dead(std::uint64_t ticket, std::uint64_t id) {
  Record record;
  record.mutable_retry_dead()->set_ticket(ticket);
  record.mutable_retry_dead()->set_id(id);
  return record;
}

inline Record drop_dead(std::uint64_t ticket, std::uint64_t id) {
  Record record;
  record.mutable_drop_dead()->set_ticket(ticket);
  record.mutable_drop_dead()->set_id(id);
  return record;
}

inline Record started(BytesView key, std::uint64_t epoch, bool tentative = false) {
  Record record;
  record.mutable_started()->set_tentative(tentative);
  record.mutable_started()->set_key(Bytes(key));
  record.mutable_started()->set_epoch(epoch);
  return record;
}

inline Record released(BytesView key, std::uint64_t epoch) {
  Record record;
  record.mutable_released()->set_key(Bytes(key));
  record.mutable_released()->set_epoch(epoch);
  return record;
}

inline Record released_with(BytesView key, std::uint64_t epoch, BytesView blob) {
  Record record = released(key, epoch);
  record.mutable_released()->set_has_blob(true);
  record.mutable_released()->set_blob(Bytes(blob));
  return record;
}

inline Record done(BytesView key, std::uint64_t epoch, BytesView result = {}) {
  Record record;
  record.mutable_done()->set_key(Bytes(key));
  record.mutable_done()->set_epoch(epoch);
  record.mutable_done()->set_result(Bytes(result));
  return record;
}

inline Record failed(BytesView key, std::uint64_t epoch, v1::Failed::Next next = v1::Failed::RETRY,
                     BytesView error = "it broke", std::uint64_t delay_ms = 0) {
  Record record;
  v1::Failed& failed = *record.mutable_failed();
  failed.set_key(Bytes(key));
  failed.set_epoch(epoch);
  failed.set_next(next);
  failed.set_error(Bytes(error));
  failed.set_delay_ms(delay_ms);
  return record;
}

inline Record checkpoint(BytesView key, std::uint64_t epoch, BytesView data) {
  Record record;
  record.mutable_checkpoint()->set_key(Bytes(key));
  record.mutable_checkpoint()->set_epoch(epoch);
  record.mutable_checkpoint()->set_data(Bytes(data));
  return record;
}

inline Record notified(BytesView key, std::uint64_t epoch, std::uint64_t number) {
  Record record;
  record.mutable_notified()->set_key(Bytes(key));
  record.mutable_notified()->set_epoch(epoch);
  record.mutable_notified()->set_number(number);
  return record;
}

inline Record tick() {
  Record record;
  record.mutable_tick();
  return record;
}

inline Record answer(std::uint64_t ticket, v1::Answer::State state) {
  Record record;
  record.mutable_answer()->set_ticket(ticket);
  record.mutable_answer()->set_state(state);
  return record;
}

inline Record configure(const v1::Configure& options) {
  Record record;
  *record.mutable_configure() = options;
  return record;
}

inline Record switch_version(std::uint32_t to) {
  Record record;
  record.mutable_switch_version()->set_to(to);
  return record;
}

inline Record shutdown() {
  Record record;
  record.mutable_shutdown();
  return record;
}

}  // namespace tenure::test::rec
