#pragma once

// Exercises that every fuzzed machine must pass: records of all kinds about everything it has, saving, and restoring.

#include <vector>

#include "base/assert.h"
#include "machine/machine.h"
#include "machine/records.h"

namespace tenure::test {

// What a machine says is built from its state: reading all of it finds views that point nowhere.
class Reader final : public Effects {
 public:
  std::uint64_t sum = 0;

  void granted(const At&, const Grant& grant) override {
    read(grant.tenure);
    sum += hash_bytes(grant.payload) + hash_bytes(grant.checkpoint);
  }
  void started(const At&, const TenureRef& tenure) override { read(tenure); }
  void stop_asked(const At&, const TenureRef& tenure, StopReason) override { read(tenure); }
  void message(const At&, const TenureRef& tenure, std::uint64_t, BytesView text) override {
    read(tenure);
    sum += hash_bytes(text);
  }
  void ended(const At&, const TenureRef& tenure, TenureEnd) override { read(tenure); }
  void buried(const At&, BytesView key, std::uint64_t, bool) override { sum += hash_bytes(key); }
  void settled(const At&, const Settlement& settlement) override { read(settlement); }
  void answer_due(const At&, const Settlement& settlement) override { read(settlement); }
  void worker_removed(const At&, std::uint64_t, BytesView worker) override { sum += hash_bytes(worker); }

 private:
  void read(const TenureRef& tenure) { sum += hash_bytes(tenure.worker) + hash_bytes(tenure.key); }
  void read(const Settlement& settlement) { sum += hash_bytes(settlement.worker) + hash_bytes(settlement.text); }
};

inline std::vector<Bytes> chunks_of(Machine& machine) {
  std::vector<Bytes> chunks;
  const auto source = machine.begin_snapshot();
  while (auto chunk = source->next()) chunks.push_back(std::move(*chunk));
  return chunks;
}

inline void expect_restorable(Machine& machine) {
  if (machine.version() > kMachineVersion) return;
  Machine other;
  ASSERT(other.restore(chunks_of(machine)).has_value());
  ASSERT(other.state_digest() == machine.state_digest());
}

// Appends to one machine, under numbers that cannot have been used.
class Feeder {
 public:
  Feeder(Machine& machine, std::int64_t time_ms) : machine_(machine), time_ms_(time_ms) {}

  void pass(std::int64_t ms) { time_ms_ += ms; }
  void feed(const v1::Record& record) {
    v1::Batch batch;
    batch.set_format(kBatchFormat);
    batch.set_sender(kSender);
    batch.set_sequence(++sequence_);
    *batch.add_records() = record;
    feed(batch.SerializeAsString());
  }
  void feed(BytesView data) {
    if (machine_.position() == UINT64_MAX) return;
    machine_.apply({machine_.position() + 1, time_ms_, data}, reader_);
  }

 private:
  static constexpr std::uint64_t kSender = 0xf00dfeed;

  Machine& machine_;
  std::int64_t time_ms_;
  std::uint64_t sequence_ = 1ULL << 40;
  Reader reader_;
};

inline void exercise(Machine& machine, Feeder& feeder) {
  struct Known {
    Bytes key;
    std::uint64_t epoch;
  };
  const auto known = [&] {
    std::vector<Known> all;
    machine.each_job(0, [&](const JobInfo& job) {
      all.push_back({Bytes(job.key), job.epoch});
      return true;
    });
    return all;
  };
  feeder.feed(rec::join(0xabcdef));
  feeder.feed(rec::add_worker(0xabcdef, "exercise", {.serves = {"k"}}));
  feeder.feed(rec::dispatch(1, v1::TASK, "k"));
  for (const Known& job : known()) {
    feeder.feed(rec::started(job.key, job.epoch));
    feeder.feed(rec::checkpoint(job.key, job.epoch, "c"));
    feeder.feed(rec::notify(2, job.key, "m"));
    feeder.feed(rec::notified(job.key, job.epoch, 1));
    feeder.feed(rec::failed(job.key, job.epoch));
  }
  const auto dead = machine.dead();
  for (const auto& [id, letter] : dead) feeder.feed(id % 2 == 0 ? rec::retry_dead(3, id) : rec::drop_dead(3, id));
  for (int i = 0; i < 30; ++i) {
    feeder.pass(kLogTimeStepMsMax);
    feeder.feed(rec::tick());
  }
  for (const Known& job : known()) feeder.feed(rec::released_with(job.key, job.epoch, "b"));
  expect_restorable(machine);
  const auto sessions = machine.sessions().all;
  for (const auto& [id, session] : sessions) {
    if (id != 0xabcdef) feeder.feed(rec::end(id, id % 2 == 0 ? v1::End::CRASHED : v1::End::LEFT));
  }
  for (const Known& job : known())
    feeder.feed(job.epoch % 2 == 0 ? rec::stop(4, job.key) : rec::done(job.key, job.epoch));
  feeder.feed(rec::shutdown());
  for (const Known& job : known()) feeder.feed(rec::done(job.key, job.epoch));
  feeder.feed(rec::end(0xabcdef, v1::End::CRASHED));
  expect_restorable(machine);
}

}  // namespace tenure::test
