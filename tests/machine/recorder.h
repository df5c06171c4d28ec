#pragma once

// Records a machine's effects: as typed lists for queries, and as lines to compare two machines.

#include <cstdint>
#include <string>
#include <vector>

#include "machine/effects.h"

namespace tenure::test {

struct Tenure {
  std::uint64_t session;
  Bytes worker;
  Bytes key;
  std::uint64_t epoch;
};

class Recorder final : public Effects {
 public:
  struct Granted {
    Tenure tenure;
    JobKind kind;
    Bytes type;
    bool first;
    bool has_checkpoint;
    std::uint32_t attempt;
    std::uint64_t ticket;
    Bytes payload;
    Bytes checkpoint;
  };
  struct Ended {
    Tenure tenure;
    TenureEnd why;
  };
  struct StopAsked {
    Tenure tenure;
    StopReason why;
  };
  struct Delivered {
    Tenure tenure;
    std::uint64_t number;
    Bytes text;
  };
  struct Settled {
    std::uint64_t ticket;
    TicketState state;
    Errc code;
    std::uint64_t epoch;
    Bytes worker;
    Bytes text;
  };
  struct Buried {
    Bytes key;
    std::uint64_t id;
    bool quarantined;
  };

  std::vector<Bytes> lines;
  std::vector<Granted> grants;
  std::vector<Bytes> starts;
  std::vector<Ended> ends;
  std::vector<StopAsked> stops;
  std::vector<Delivered> messages;
  std::vector<Settled> settlements;
  std::vector<Settled> answers_due;
  std::vector<Buried> burials;
  std::vector<std::uint64_t> joins;
  std::vector<std::uint64_t> sessions_ended;
  std::vector<Errc> workers_refused;
  std::vector<Bytes> choices;  // a key each; empty: all of them
  int drained = 0;
  int gone = 0;

  void clear() { *this = Recorder(); }

  // Adds what another one has heard since.
  void absorb(const Recorder& other) {
    const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    add(lines, other.lines);
    add(grants, other.grants);
    add(starts, other.starts);
    add(ends, other.ends);
    add(stops, other.stops);
    add(messages, other.messages);
    add(settlements, other.settlements);
    add(answers_due, other.answers_due);
    add(burials, other.burials);
    add(joins, other.joins);
    add(sessions_ended, other.sessions_ended);
    add(workers_refused, other.workers_refused);
    add(choices, other.choices);
    drained += other.drained;
    gone += other.gone;
  }

  std::vector<Bytes> granted_keys() const {
    std::vector<Bytes> keys;
    keys.reserve(grants.size());
    for (const Granted& grant : grants) keys.push_back(grant.tenure.key);
    return keys;
  }

  void granted(const At&, const Grant& g) override {
    line("granted", show(g.tenure), int(g.kind), g.type, g.first, g.answer_in_log, g.has_checkpoint, g.attempt,
         g.ticket, g.payload, g.checkpoint);
    grants.push_back({keep(g.tenure), g.kind, Bytes(g.type), g.first, g.has_checkpoint, g.attempt, g.ticket,
                      Bytes(g.payload), Bytes(g.checkpoint)});
  }
  void started(const At&, const TenureRef& t) override {
    line("started", show(t));
    starts.emplace_back(t.key);
  }
  void stop_asked(const At&, const TenureRef& t, StopReason why) override {
    line("stop_asked", show(t), int(why));
    stops.push_back({keep(t), why});
  }
  void message(const At&, const TenureRef& t, std::uint64_t number, BytesView text) override {
    line("message", show(t), number, text);
    messages.push_back({keep(t), number, Bytes(text)});
  }
  void ended(const At&, const TenureRef& t, TenureEnd why) override {
    line("ended", show(t), int(why));
    ends.push_back({keep(t), why});
  }
  void buried(const At&, BytesView key, std::uint64_t id, bool quarantined) override {
    line("buried", key, id, quarantined);
    burials.push_back({Bytes(key), id, quarantined});
  }
  void settled(const At&, const Settlement& s) override {
    line("settled", show(s));
    settlements.push_back(keep(s));
  }
  void answer_due(const At&, const Settlement& s) override {
    line("answer_due", show(s));
    answers_due.push_back(keep(s));
  }
  void joined(const At&, std::uint64_t session) override {
    line("joined", session);
    joins.push_back(session);
  }
  void beat_seen(const At&, const SeenBeat& beat) override {
    line("beat_seen", beat.session, beat.number, beat.digest_position, beat.digest);
  }
  void session_ended(const At&, std::uint64_t session, SessionEnd why) override {
    line("session_ended", session, int(why));
    sessions_ended.push_back(session);
  }
  void worker_added(const At&, std::uint64_t session, BytesView worker) override {
    line("worker_added", session, worker);
  }
  void worker_refused(const At&, std::uint64_t session, BytesView worker, Errc code) override {
    line("worker_refused", session, worker, int(code));
    workers_refused.push_back(code);
  }
  void worker_removed(const At&, std::uint64_t session, BytesView worker) override {
    line("worker_removed", session, worker);
  }
  void choice_due(const At&, BytesView key) override {
    line("choice_due", key);
    choices.emplace_back(key);
  }
  void choices_due(const At&) override {
    line("choices_due");
    choices.emplace_back();
  }
  void emitted(const At&, const Emitted& it) override {
    line("emitted", it.source, it.key, it.epoch, it.before, it.position, it.tasks, it.buried);
  }
  void source_restored(const At&, BytesView source, std::uint64_t position) override {
    line("source_restored", source, position);
  }
  void source_forgotten(const At&, BytesView source) override { line("source_forgotten", source); }
  void version_switched(const At&, std::uint32_t version) override { line("version_switched", version); }
  void saved(const At&, std::uint64_t position) override { line("saved", position); }
  void shutdown_began(const At&) override { line("shutdown_began"); }
  void shutdown_drained(const At&) override {
    line("shutdown_drained");
    ++drained;
  }
  void pool_gone(const At&) override {
    line("pool_gone");
    ++gone;
  }

 private:
  static Tenure keep(const TenureRef& t) { return {t.session, Bytes(t.worker), Bytes(t.key), t.epoch}; }
  static Settled keep(const Settlement& s) {
    return {s.ticket, s.state, s.code, s.epoch, Bytes(s.worker), Bytes(s.text)};
  }
  static Bytes show(const TenureRef& t) {
    return std::to_string(t.session) + "/" + Bytes(t.worker) + "/" + Bytes(t.key) + "/" + std::to_string(t.epoch);
  }
  static Bytes show(const Settlement& s) {
    return std::to_string(s.ticket) + "/" + std::to_string(int(s.state)) + "/" + std::to_string(int(s.code)) + "/" +
           std::to_string(s.epoch) + "/" + Bytes(s.worker) + "/" + Bytes(s.text);
  }
  static Bytes word(BytesView text) { return Bytes(text); }
  static Bytes word(const char* text) { return text; }
  static Bytes word(const Bytes& text) { return text; }
  template <class Number>
  static Bytes word(Number number) {
    return std::to_string(number);
  }
  template <class... Words>
  void line(const char* what, const Words&... words) {
    Bytes text = what;
    ((text += ' ', text += word(words)), ...);
    lines.push_back(std::move(text));
  }
};

}  // namespace tenure::test
