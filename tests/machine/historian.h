#pragma once

// Generates random histories of a pool: mostly records that are meaningful in the current state, some stale, repeated,
// foreign or broken, with time that crawls, stops, jumps and steps back.

#include <algorithm>
#include <string>
#include <vector>

#include "base/entropy.h"
#include "machine/pool.h"

namespace tenure::test {

// Tickets tell what they were for, so that a checker needs no list of them.
enum class TicketUse : std::uint8_t { dispatch = 1, notify = 2, stop = 3, dead = 4, emit = 5 };
inline TicketUse use_of(std::uint64_t ticket) { return static_cast<TicketUse>(ticket >> 56); }

class Historian {
 public:
  explicit Historian(std::uint64_t seed)
      : entropy_(seed), style_(entropy_.below(5)), speaks_(entropy_.below(5) == 0 ? 1 : kMachineVersion) {}

  std::size_t below(std::size_t bound) { return entropy_.below(bound); }
  bool chance(std::size_t percent) { return below(100) < percent; }

  // The next entry, judged by the state it will meet.
  LoggedEntry entry(const Machine& machine) {
    position_ += 1 + below(3);
    now_ms_ += span();
    if (chance(4)) return {position_, now_ms_, garbage()};
    if (chance(5) && !sent_.empty()) return {position_, now_ms_, sent_[below(sent_.size())]};
    std::vector<v1::Record> records;
    for (std::size_t i = 1 + below(chance(20) ? 6 : 2); i > 0; --i) records.push_back(record(machine));
    sent_.push_back(batch_bytes(1 + below(3), ++sequence_, records));
    return {position_, now_ms_, sent_.back()};
  }

  std::int64_t span() {
    if (chance(30)) return 0;
    if (chance(2)) return 3'600'000;
    if (chance(2)) return -50'000;
    return static_cast<std::int64_t>(chance(25) ? 1 + below(4'000) : 1 + below(150));
  }

  v1::Record record(const Machine& machine) {
    const std::size_t dice = style_ == kBadWorkers && chance(60) ? 30 : below(100);
    if (machine.workers().by_age.size() < 2 && dice < 30) return grow(machine);
    if (dice < 31 && chance(25)) return sources_word(machine);
    if (dice < 35) return holders_word(machine);
    if (dice < 60) return users_word(machine);
    if (dice < 75) return members_word(machine);
    if (dice < 80) return grow(machine);
    if (dice < 83) return deads_word(machine);
    if (dice < 86) return answers_word(machine);
    if (dice < 88) return options();
    if (dice < 89 && style_ == 0 && chance(30)) return rec::shutdown();
    if (dice < 90) return rec::switch_version(static_cast<std::uint32_t>(below(4)));
    if (dice < 92) return {};
    return rec::tick();
  }

 private:
  static constexpr std::size_t kKeys = 14;
  static constexpr std::size_t kNames = 6;
  static constexpr std::size_t kBadWorkers = 4;  // a style

  Bytes key() { return "key" + std::to_string(below(kKeys)); }
  Bytes name() { return "worker" + std::to_string(below(kNames)); }
  std::uint64_t ticket(TicketUse use) { return static_cast<std::uint64_t>(use) << 56 | ++tickets_; }
  Bytes garbage() {
    Bytes bytes(below(30), '\0');
    for (char& byte : bytes) byte = static_cast<char>(below(256));
    return bytes;
  }

  std::uint64_t session(const Machine& machine) {
    const auto& sessions = machine.sessions().all;
    if (sessions.empty() || chance(4)) return 1 + below(40);
    auto at = sessions.begin();
    std::advance(at, below(sessions.size()));
    return at->first;
  }
  Bytes worker(const Machine& machine) {
    const auto& by_age = machine.workers().by_age;
    return by_age.empty() || chance(5) ? name() : machine.workers()[by_age[below(by_age.size())]].id;
  }

  v1::Record grow(const Machine& machine) {
    if (machine.sessions().all.size() < 2 || chance(30)) {
      v1::Record join = rec::join(++sessions_, chance(20) ? kMachineVersion : speaks_, chance(50));
      if (chance(5)) join.mutable_join()->set_epoch_floor(entropy_.next() >> (2 + below(60)));
      return join;
    }
    rec::WorkerSpec spec;
    if (chance(30)) spec.weight = static_cast<std::uint32_t>(1 + below(300));
    if (chance(30)) spec.window = static_cast<std::uint32_t>(1 + below(3));
    if (chance(25)) spec.replaces = worker(machine);
    if (chance(20)) spec.serves = {key(), key()};
    if (chance(40)) spec.takes = takes();
    spec.isolates = chance(20);
    spec.helps = chance(30);
    return rec::add_worker(session(machine), name(), spec);
  }

  Bytes type() { return Bytes(1, static_cast<char>('x' + below(3))); }
  Takes takes() {
    Takes takes = Takes::nothing();
    for (std::size_t i = 1 + below(2); i > 0; --i) {
      const JobKind kind = chance(50) ? JobKind::task : JobKind::resident;
      chance(50) ? takes.add_all(kind) : takes.add_type(kind, chance(20) ? Bytes() : type());
    }
    return takes;
  }

  v1::Record members_word(const Machine& machine) {
    const std::uint64_t who = session(machine);
    const Session* known = machine.sessions().find(who);
    switch (below(10)) {
      case 0: return rec::expire(who, known == nullptr || chance(30) ? below(50) : known->last_beat);
      case 1: return rec::end(who, static_cast<v1::End::Reason>(below(3)));
      case 2: return rec::crash(who, culprits(machine), Bytes(below(600), 'e'));
      case 3: return rec::remove_worker(who, worker(machine));
      case 4: return rec::drain(worker(machine), chance(30));
      case 5: return rec::serve(who, worker(machine), {key()}, {key()});
      case 6:
      case 7: {
        const std::uint64_t chooser = chance(10) ? who : machine.sessions().chooser;
        return rec::choose(key(), chance(20) ? Bytes() : worker(machine), chooser,
                           machine.choice_round() - below(10) / 9);
      }
      default: return rec::beat(who, below(100), chance(20) ? kMachineVersion : speaks_);
    }
  }

  // Some of those that hold a key now, in whatever session.
  std::vector<std::uint64_t> culprits(const Machine& machine) {
    std::vector<std::uint64_t> epochs;
    machine.each_job(0, [&](const JobInfo& job) {
      if (job.session != 0 && chance(30)) epochs.push_back(job.epoch);
      return true;
    });
    return epochs;
  }

  v1::Record users_word(const Machine&) {
    const rec::JobSpec spec{.payload = Bytes(below(20), 'p'),
                            .delay_ms = chance(20) ? 1 + below(5'000) : 0,
                            .max_attempts = static_cast<std::uint32_t>(chance(50) ? 1 + below(3) : 0),
                            .answer_in_log = chance(20),
                            .type = chance(40) ? type() : Bytes()};
    switch (below(8)) {
      case 0: return rec::stop(ticket(TicketUse::stop), key(), chance(20));
      case 1: return rec::notify(ticket(TicketUse::notify), key(), Bytes(below(9), 'm'), chance(20));
      case 2:
      case 3:
      case 4: return rec::dispatch(ticket(TicketUse::dispatch), v1::RESIDENT, key(), spec);
      default: return rec::dispatch(ticket(TicketUse::dispatch), v1::TASK, chance(2) ? Bytes() : key(), spec);
    }
  }

  // Of the key's own holder, mostly, and from about where its source is.
  v1::Record sources_word(const Machine& machine) {
    const Bytes source = key();
    if (chance(3)) return rec::forget_source(ticket(TicketUse::emit), source, chance(20));
    const auto known = machine.sources().find(source);
    const std::uint64_t have = known == machine.sources().end() ? 0 : known->second.position;
    const std::optional<JobInfo> job = machine.find(source);
    rec::EmitSpec spec{.source = source, .key = source, .epoch = job ? job->epoch : below(1'000)};
    if (chance(10)) spec.epoch -= below(3);
    spec.after = have - (chance(30) ? std::min<std::uint64_t>(have, below(5)) : 0) + (chance(5) ? 1 : 0);
    spec.position = spec.after + below(6);
    for (std::size_t i = below(4); i > 0; --i) {
      const rec::JobSpec task{.delay_ms = chance(20) ? 1 + below(5'000) : 0, .type = chance(40) ? type() : Bytes()};
      spec.tasks.emplace_back(chance(30) ? 0 : spec.after + below(6),
                              rec::dispatch(ticket(TicketUse::dispatch), v1::TASK, key(), task));
    }
    return rec::emit(ticket(TicketUse::emit), spec);
  }

  // One that waits to be handled, or none.
  std::uint64_t message_of(const Machine& machine, const Bytes& key) {
    std::vector<std::uint64_t> numbers{0};
    machine.each_message(key, [&](std::uint64_t number, BytesView) { numbers.push_back(number); });
    return numbers[below(numbers.size())];
  }

  v1::Record holders_word(const Machine& machine) {
    struct Held {
      Bytes key;
      std::uint64_t epoch;
      JobState state;
      std::uint64_t session = 0;
    };
    std::vector<Held> held;
    machine.each_job(0, [&](const JobInfo& job) {
      if (job.session != 0) held.push_back({Bytes(job.key), job.epoch, job.state, job.session});
      return true;
    });
    Held job = held.empty() ? Held{key(), below(1'000), JobState::idle, 0} : held[below(held.size())];
    if (chance(5)) job.epoch -= below(3);
    // In some pools some workers start hardly anything.
    const bool bad = style_ == kBadWorkers && job.session % 2 == 0;
    if (bad && chance(90) && job.state == JobState::starting) {
      return rec::failed(job.key, job.epoch, chance(50) ? v1::Failed::DROP : v1::Failed::RETRY, "no start", 1);
    }
    if (chance(60) && job.state == JobState::starting) return rec::started(job.key, job.epoch, chance(30));
    if (chance(60) && (job.state == JobState::stopping || job.state == JobState::moving)) {
      return chance(50) ? rec::released_with(job.key, job.epoch, "blob") : rec::released(job.key, job.epoch);
    }
    switch (below(9)) {
      case 0: return rec::started(job.key, job.epoch, chance(30));
      case 1: return rec::released(job.key, job.epoch);
      case 2: return rec::checkpoint(job.key, job.epoch, Bytes(below(30), 'c'));
      case 3: {
        v1::Record record = rec::notified(job.key, job.epoch, message_of(machine, job.key));
        record.mutable_notified()->set_failed(chance(30));
        return record;
      }
      case 4:
      case 5:
        // A delay of nothing comes due with the next entry, which would make batches differ from single records.
        return rec::failed(job.key, job.epoch, static_cast<v1::Failed::Next>(below(5)), "error", 1 + below(2'000));
      default: return rec::done(job.key, job.epoch, "result");
    }
  }

  v1::Record deads_word(const Machine& machine) {
    std::uint64_t id = below(5);
    if (!machine.dead().empty() && chance(90)) {
      auto at = machine.dead().begin();
      std::advance(at, below(machine.dead().size()));
      id = at->first;
    }
    return chance(60) ? rec::retry_dead(ticket(TicketUse::dead), id) : rec::drop_dead(ticket(TicketUse::dead), id);
  }

  v1::Record answers_word(const Machine& machine) {
    if (machine.answers().empty()) return rec::answer(1 + below(99), v1::Answer::ACCEPTED);
    auto at = machine.answers().begin();
    std::advance(at, below(machine.answers().size()));
    return rec::answer(at->first, static_cast<v1::Answer::State>(below(4)));
  }

  v1::Record options() {
    v1::Configure options;
    options.set_max_queued_jobs(static_cast<std::uint32_t>(4 + below(20)));
    options.set_max_delayed_jobs(static_cast<std::uint32_t>(2 + below(10)));
    options.set_max_attempts(static_cast<std::uint32_t>(1 + below(4)));
    options.set_pending_job_ttl_ms(1'000 + below(4'000));
    options.set_backoff_base_ms(1 + below(2'000));
    options.set_backoff_cap_ms(1 + below(5'000));
    options.set_quarantine_after_plus_one(static_cast<std::uint32_t>(below(6)));
    if (style_ == 1 || chance(10)) options.set_assignment(static_cast<v1::Configure::Assignment>(below(4)));
    return rec::configure(options);
  }

  SeededEntropy entropy_;
  std::size_t style_;
  std::uint32_t speaks_;  // by the first nodes
  std::uint64_t position_ = 0;
  std::int64_t now_ms_ = 1'700'000'000'000;
  std::uint64_t sequence_ = 0;
  std::uint64_t sessions_ = 0;
  std::uint64_t tickets_ = 0;
  std::vector<Bytes> sent_;
};

}  // namespace tenure::test
