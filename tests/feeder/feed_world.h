#pragma once

// The outside of feeders for a test under every kind of trouble: the real machine, and a way to it on which answers are
// lost, and requests are late or never arrive.

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "feeder/outside.h"
#include "feeder/spec.h"
#include "machine/pool.h"

namespace tenure::test {

inline constexpr const char* kSource = "t";

// Records that a holder has sent, in order. Those that are not yet applied when the holder dies may be applied later.
struct Sent {
  Bytes key;
  v1::Emit emit{};
  Emitter::Done done{};  // null once it was given up
};

// A pool of a few workers, whose machine is the real one.
class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    v1::Configure options;
    options.set_max_queued_jobs(40);
    pool_.append(rec::configure(options));
    for (const Bytes& worker : workers_) pool_.node(worker);
  }

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool chance(unsigned percent) { return below(100) < percent; }

  void send(Sent sent) { sent_.push_back(std::move(sent)); }

  // One request reaches the log, with or without its answer; or it is given up first, and reaches it later, or never.
  void deliver() {
    if (sent_.empty()) return;
    if (chance(10) && sent_.front().done) {
      const Emitter::Done done = std::exchange(sent_.front().done, nullptr);
      return done(fail(Errc::timed_out, "emit", "no answer in time"));
    }
    Sent sent = std::move(sent_.front());
    sent_.pop_front();
    if (!sent.done && chance(30)) return;
    const Result<std::uint64_t> answer = apply(sent.emit);
    if (!sent.done) return;
    if (chance(10)) return sent.done(fail(Errc::unavailable, "emit", "the answer was lost"));
    sent.done(answer);
  }
  void drain() {
    while (!sent_.empty()) deliver();
  }

  // A worker is gone, and comes back at once. What its feeders have sent may still arrive.
  void kill_a_worker() {
    const Bytes& worker = workers_[below(workers_.size())];
    pool_.leave(pool_.session_of(worker));
    pool_.node(worker);
  }
  void give_up(const Bytes& key) {
    for (Sent& sent : sent_) {
      if (sent.key == key) sent.done = nullptr;
    }
  }
  Errc dispatch(const Bytes& key) {
    const std::uint64_t ticket = pool_.resident(key);
    return pool_.refusal(ticket).value_or(Errc{});
  }
  TestPool& pool() { return pool_; }
  std::vector<Bytes> residents(JobState state) const {
    std::vector<Bytes> keys;
    pool_.machine().each_job(0, [&](const JobInfo& job) {
      if (job.kind == JobKind::resident && job.state == state) keys.emplace_back(job.key);
      return true;
    });
    return keys;
  }
  Hold hold(const Bytes& key) const { return {.key = key, .epoch = pool_.epoch(key)}; }
  std::optional<Bytes> checkpoint(const Bytes& key) const {
    const auto job = pool_.machine().find(key);
    return job && job->has_checkpoint ? std::optional<Bytes>(Bytes(job->checkpoint)) : std::nullopt;
  }
  // Tasks end, and make room.
  void work() {
    std::vector<Bytes> held;
    pool_.machine().each_job(0, [&](const JobInfo& job) {
      const bool begun = job.state == JobState::starting || job.state == JobState::running;
      if (job.kind == JobKind::task && begun) held.emplace_back(job.key);
      return true;
    });
    const std::size_t ended = std::min<std::size_t>(below(40), held.size());
    for (std::size_t i = 0; i < ended; ++i) pool_.done(held[i]);
  }
  void forget(const Bytes& sequence) { pool_.append(rec::forget_source(pool_.new_ticket(), sequence)); }

  const std::map<Bytes, int>& accepted() const { return accepted_; }
  std::uint64_t lost() const {
    std::uint64_t lost = 0;
    for (const auto& [name, source] : pool_.machine().sources()) lost += source.lost;
    return lost;
  }
  std::size_t sequences() const { return pool_.machine().sources().size(); }

 private:
  Result<std::uint64_t> apply(v1::Emit emit) {
    const std::uint64_t ticket = pool_.new_ticket();
    std::map<std::uint64_t, Bytes> payloads;
    emit.set_ticket(ticket);
    for (v1::EmittedTask& task : *emit.mutable_tasks()) {
      task.mutable_task()->set_ticket(pool_.new_ticket());
      payloads[task.task().ticket()] = task.task().payload();
    }
    v1::Record record;
    *record.mutable_emit() = std::move(emit);
    pool_.append(record);
    Result<std::uint64_t> answer = fail(Errc::unknown, "emit", "no answer");
    for (const Recorder::Settled& settled : pool_.seen().settlements) {
      const auto task = payloads.find(settled.ticket);
      if (task != payloads.end() && settled.state == TicketState::accepted) {
        ++accepted_[task->second];
      }
      if (settled.ticket != ticket) continue;
      if (settled.state == TicketState::refused) {
        answer = fail(settled.code, "emit", settled.text);
      } else {
        answer = std::stoull(settled.text);
      }
    }
    return answer;
  }
  const std::vector<Bytes> workers_ = {"u", "v", "w"};
  std::mt19937_64 random_;
  TestPool pool_;
  std::deque<Sent> sent_;
  std::map<Bytes, int> accepted_;
};

class ChaosEmitter final : public Emitter {
 public:
  ChaosEmitter(World& world, Hold hold) : world_(world), hold_(std::move(hold)) {}

  void emit(std::shared_ptr<const Emission> emission, Nanos /*timeout*/, Done done) override {
    v1::Emit emit = begun(emission->source, emission->report);
    emit.set_after(known_[emission->source]);
    emit.set_position(emission->position);
    for (const EmitTask& task : emission->tasks) {
      v1::EmittedTask& into = *emit.add_tasks();
      into.set_position(task.position);
      into.set_error(task.error);
      into.mutable_task()->set_kind(v1::TASK);
      into.mutable_task()->set_key(task.key);
      into.mutable_task()->set_payload(task.payload);
    }
    send(std::move(emit), std::move(done));
  }
  void ask(Bytes source, SourceReport report, Nanos /*timeout*/, Done done) override {
    send(begun(source, report), std::move(done));
  }
  void tell(Bytes source, SourceReport report) override { send(begun(source, report), nullptr); }

 private:
  v1::Emit begun(const Bytes& source, const SourceReport& report) const {
    v1::Emit emit;
    emit.set_source(source);
    emit.set_key(hold_.key);
    emit.set_epoch(hold_.epoch);
    if (report.lost) {
      emit.mutable_lost()->set_first(report.lost->first);
      emit.mutable_lost()->set_last(report.lost->last);
      emit.mutable_lost()->set_count(report.lost->count);
    }
    emit.set_end(report.end);
    if (report.trouble) emit.set_trouble(*report.trouble);
    if (report.checkpoint) emit.set_checkpoint(*report.checkpoint);
    return emit;
  }
  void send(v1::Emit emit, Done done) {
    const Bytes source = emit.source();
    Done noting;
    if (done) {
      noting = [this, source, done = std::move(done)](const Result<std::uint64_t>& answer) {
        if (answer) known_[source] = std::max(known_[source], *answer);
        if (!answer && answer.error().code == Errc::lost_history) known_[source] = 0;
        done(answer);
      };
    }
    world_.send({hold_.key, std::move(emit), std::move(noting)});
  }

  World& world_;
  const Hold hold_;
  std::map<Bytes, std::uint64_t> known_;
};

class ChaosOutside final : public feeder::Outside {
 public:
  explicit ChaosOutside(World& world) : world_(world) {}

  std::shared_ptr<Emitter> emitter(const Hold& hold) override {
    emitters_.push_back(std::make_shared<ChaosEmitter>(world_, hold));
    return emitters_.back();
  }
  feeder::QueueRoom& room() override { return room_; }
  void log(LogLevel /*level*/, const std::string& /*text*/) override {}
  // The request may be lost, or its answer.
  void dispatch(const Bytes& partition, std::function<void(Errc)> done) override {
    if (world_.chance(20)) return done(Errc::unavailable);
    const Errc refusal = world_.dispatch(feeder::feeder_key(kSource, partition));
    done(world_.chance(10) ? Errc::timed_out : refusal);
  }
  void forget(const Bytes& sequence, std::function<void(bool)> done) override {
    world_.forget(sequence);
    done(!world_.chance(30));
  }
  std::int64_t wall_ms() override { return 0; }
  std::uint64_t random() override { return world_.below(UINT64_MAX); }

 private:
  World& world_;
  feeder::QueueRoom room_;  // knows nothing, so that emits are refused
  std::vector<std::shared_ptr<Emitter>> emitters_;
};

}  // namespace tenure::test
