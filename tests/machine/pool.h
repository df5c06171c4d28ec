#pragma once

// A pool without nodes: a log of entries, and one or more machines that apply it in parallel. Every append is a
// separate batch at the next position. Time is the engine's and moves only when the test says so.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "machine/image.h"
#include "machine/machine.h"
#include "machine/recorder.h"
#include "machine/records.h"

namespace tenure::test {

inline Bytes batch_bytes(std::uint64_t sender, std::uint64_t sequence, const std::vector<v1::Record>& records) {
  v1::Batch batch;
  batch.set_format(kBatchFormat);
  batch.set_sender(sender);
  batch.set_sequence(sequence);
  for (const v1::Record& record : records) *batch.add_records() = record;
  return batch.SerializeAsString();
}

struct LoggedEntry {
  std::uint64_t position;
  std::int64_t time_ms;
  Bytes data;

  EntryView view() const { return {position, time_ms, data}; }
};

class TestPool {
 public:
  using Records = std::vector<v1::Record>;
  static constexpr std::uint64_t kSender = 77;

  explicit TestPool(std::size_t machines = 1, std::uint64_t sender = kSender) : replicas_(machines), sender_(sender) {}

  Machine& machine(std::size_t at = 0) { return replicas_[at].machine; }
  const Machine& machine(std::size_t at = 0) const { return replicas_[at].machine; }
  // What the last append (or the last span of time) brought about, and what all did so far.
  const Recorder& seen(std::size_t at = 0) const { return replicas_[at].last; }
  const Recorder& history(std::size_t at = 0) const { return replicas_[at].all; }
  const std::vector<LoggedEntry>& log() const { return log_; }
  std::int64_t now_ms() const { return now_ms_; }
  std::uint64_t position() const { return position_; }

  // Entries.
  std::uint64_t append(const v1::Record& record) { return append(Records{record}); }
  std::uint64_t append(const Records& records) { return append_as(sender_, ++sequence_, records); }
  std::uint64_t append_as(std::uint64_t sender, std::uint64_t sequence, const Records& records) {
    return append_bytes(batch_bytes(sender, sequence, records));
  }
  std::uint64_t append_bytes(Bytes data) {
    for (Replica& replica : replicas_) replica.last.clear();
    return put(std::move(data));
  }

  // Time. `jump` moves the engine's clock at once; `pass` lets log time pass as well, by ticks.
  void jump(std::int64_t ms) { now_ms_ += ms; }
  void pass(std::int64_t ms) {
    for (Replica& replica : replicas_) replica.last.clear();
    while (ms > 0) {
      const std::int64_t step = std::min<std::int64_t>(ms, 1'000);
      ms -= step;
      now_ms_ += step;
      put(batch_bytes(sender_, ++sequence_, {rec::tick()}));
    }
  }

  // Members. A node joins and adds one worker. The worker's name identifies both.
  std::uint64_t join() {
    append(rec::join(++sessions_));
    return sessions_;
  }
  std::uint64_t node(BytesView worker, const rec::WorkerSpec& spec = {}) {
    append({rec::join(++sessions_), rec::add_worker(sessions_, worker, spec)});
    return sessions_;
  }
  // The same for a node that has the users' function that chooses.
  std::uint64_t chooser(BytesView worker, const rec::WorkerSpec& spec = {}) {
    append({rec::join(++sessions_, kMachineVersion, true), rec::add_worker(sessions_, worker, spec)});
    return sessions_;
  }
  v1::Record choice(BytesView key, BytesView worker) const {
    return rec::choose(key, worker, machine().sessions().chooser, machine().choice_round());
  }
  std::uint64_t session_of(BytesView worker) const {
    const WorkerIx ix = machine().workers().find(worker);
    return ix == kNone ? 0 : machine().workers()[ix].session;
  }
  bool alive(std::uint64_t session) const { return machine().sessions().find(session) != nullptr; }
  void crash(std::uint64_t session) { append(rec::end(session, v1::End::CRASHED)); }
  // The same, with evidence against the present holders of these keys.
  void crash(std::uint64_t session, const std::vector<Bytes>& culprits, BytesView evidence = "SIGSEGV") {
    std::vector<std::uint64_t> epochs;
    for (const Bytes& key : culprits) epochs.push_back(epoch(key));
    append(rec::crash(session, epochs, evidence));
  }
  void leave(std::uint64_t session) { append(rec::end(session)); }

  // Jobs. Each gives its ticket.
  std::uint64_t resident(BytesView key, const rec::JobSpec& spec = {}) {
    append(rec::dispatch(++tickets_, v1::RESIDENT, key, spec));
    return tickets_;
  }
  std::uint64_t task(BytesView key, const rec::JobSpec& spec = {}) {
    append(rec::dispatch(++tickets_, v1::TASK, key, spec));
    return tickets_;
  }
  std::uint64_t running(BytesView key) {
    const std::uint64_t ticket = resident(key);
    started(key);
    return ticket;
  }
  std::uint64_t stop(BytesView key, bool answer_in_log = false) {
    append(rec::stop(++tickets_, key, answer_in_log));
    return tickets_;
  }
  std::uint64_t notify(BytesView key, BytesView message) {
    append(rec::notify(++tickets_, key, message));
    return tickets_;
  }
  std::uint64_t retry_dead(std::uint64_t id) {
    append(rec::retry_dead(++tickets_, id));
    return tickets_;
  }
  std::uint64_t drop_dead(std::uint64_t id) {
    append(rec::drop_dead(++tickets_, id));
    return tickets_;
  }
  std::uint64_t new_ticket() { return ++tickets_; }

  // What holders say, in the name of the present tenure.
  void started(BytesView key) { append(rec::started(key, epoch(key))); }
  void released(BytesView key) { append(rec::released(key, epoch(key))); }
  void released_with(BytesView key, BytesView blob) { append(rec::released_with(key, epoch(key), blob)); }
  void done(BytesView key, BytesView result = {}) { append(rec::done(key, epoch(key), result)); }
  void failed(BytesView key, v1::Failed::Next next = v1::Failed::RETRY, std::uint64_t delay_ms = 0) {
    append(rec::failed(key, epoch(key), next, "it broke", delay_ms));
  }
  void checkpoint(BytesView key, BytesView data) { append(rec::checkpoint(key, epoch(key), data)); }
  // The holder has handled the message of that text.
  void notified(BytesView key, BytesView text) { append(rec::notified(key, epoch(key), message_number(key, text))); }
  std::uint64_t message_number(BytesView key, BytesView text) const {
    std::uint64_t found = 0;
    machine().each_message(key, [&](std::uint64_t number, BytesView of) { found = of == text ? number : found; });
    return found;
  }
  // Starts everything that is starting, and hands over everything that is asked to move, until nothing is.
  void settle() {
    for (Records records = due(); !records.empty(); records = due()) append(records);
  }

  // The state.
  std::optional<JobInfo> info(BytesView key) const { return machine().find(key); }
  std::uint64_t epoch(BytesView key) const { return info(key) ? info(key)->epoch : 0; }
  Bytes holder(BytesView key) const { return info(key) ? Bytes(info(key)->worker) : Bytes(); }
  std::optional<JobState> state(BytesView key) const {
    return info(key) ? std::optional(info(key)->state) : std::nullopt;
  }
  std::vector<TicketState> outcomes(std::uint64_t ticket) const {
    std::vector<TicketState> states;
    for (const Recorder::Settled& settled : history().settlements) {
      if (settled.ticket == ticket) states.push_back(settled.state);
    }
    return states;
  }
  std::optional<TicketState> outcome(std::uint64_t ticket) const {
    const auto states = outcomes(ticket);
    return states.empty() ? std::nullopt : std::optional(states.back());
  }
  // Why the ticket was refused, if it was.
  std::optional<Errc> refusal(std::uint64_t ticket) const {
    for (const Recorder::Settled& settled : history().settlements) {
      if (settled.ticket == ticket && settled.state == TicketState::refused) return settled.code;
    }
    return std::nullopt;
  }
  std::uint64_t refused() const { return machine().stats().records_refused; }

 private:
  struct Replica {
    Machine machine;
    Recorder last;
    Recorder all;
  };

  std::uint64_t put(Bytes data) {
    position_ += 3;  // positions only grow; they need not be dense
    log_.push_back({position_, now_ms_, std::move(data)});
    for (Replica& replica : replicas_) {
      Recorder heard;
      replica.machine.apply(log_.back().view(), heard);
      replica.last.absorb(heard);
      replica.all.absorb(heard);
    }
    return position_;
  }

  Records due() const {
    Records records;
    machine().each_job(0, [&](const JobInfo& job) {
      if (job.state == JobState::starting) records.push_back(rec::started(job.key, job.epoch));
      if (job.state == JobState::moving) records.push_back(rec::released(job.key, job.epoch));
      return true;
    });
    return records;
  }

  std::deque<Replica> replicas_;
  const std::uint64_t sender_;
  std::vector<LoggedEntry> log_;
  std::uint64_t position_ = 0;
  std::int64_t now_ms_ = 1'700'000'000'000;
  std::uint64_t sequence_ = 0;
  std::uint64_t sessions_ = 0;
  std::uint64_t tickets_ = 1'000;
};

}  // namespace tenure::test
