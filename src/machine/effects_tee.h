#pragma once

// Delivers a machine's effects to any number of listeners, in the order in which they were added. A listener may hear
// all effects or only some groups of them. Listeners must outlive the tee, and are not added while an entry is applied.

#include <vector>

#include "machine/effects.h"

namespace tenure {

class EffectsTee final : public Effects {
 public:
  void add(Effects& listener) {
    add_sessions(listener);
    add_tickets(listener);
    add_keys(listener);
    add_sources(listener);
    add_pool(listener);
  }
  void add_sessions(SessionEffects& listener) { sessions_.push_back(&listener); }
  void add_tickets(TicketEffects& listener) { tickets_.push_back(&listener); }
  void add_keys(KeyEffects& listener) { keys_.push_back(&listener); }
  void add_sources(SourceEffects& listener) { sources_.push_back(&listener); }
  void add_pool(PoolEffects& listener) { pool_.push_back(&listener); }

  void joined(const At& at, std::uint64_t session) override { each(sessions_, &SessionEffects::joined, at, session); }
  void beat_seen(const At& at, const SeenBeat& beat) override { each(sessions_, &SessionEffects::beat_seen, at, beat); }
  void session_ended(const At& at, std::uint64_t session, SessionEnd how) override {
    each(sessions_, &SessionEffects::session_ended, at, session, how);
  }

  void settled(const At& at, const Settlement& it) override { each(tickets_, &TicketEffects::settled, at, it); }
  void answer_due(const At& at, const Settlement& it) override { each(tickets_, &TicketEffects::answer_due, at, it); }

  void worker_added(const At& at, std::uint64_t session, BytesView worker) override {
    each(keys_, &KeyEffects::worker_added, at, session, worker);
  }
  void worker_refused(const At& at, std::uint64_t session, BytesView worker, Errc why) override {
    each(keys_, &KeyEffects::worker_refused, at, session, worker, why);
  }
  void worker_removed(const At& at, std::uint64_t session, BytesView worker) override {
    each(keys_, &KeyEffects::worker_removed, at, session, worker);
  }
  void worker_unfit(const At& at, std::uint64_t session, BytesView worker, BytesView error) override {
    each(keys_, &KeyEffects::worker_unfit, at, session, worker, error);
  }
  void worker_fit(const At& at, std::uint64_t session, BytesView worker) override {
    each(keys_, &KeyEffects::worker_fit, at, session, worker);
  }
  void granted(const At& at, const Grant& grant) override { each(keys_, &KeyEffects::granted, at, grant); }
  void started(const At& at, const TenureRef& tenure) override { each(keys_, &KeyEffects::started, at, tenure); }
  void stop_asked(const At& at, const TenureRef& tenure, StopReason why) override {
    each(keys_, &KeyEffects::stop_asked, at, tenure, why);
  }
  void message(const At& at, const TenureRef& tenure, std::uint64_t number, BytesView text) override {
    each(keys_, &KeyEffects::message, at, tenure, number, text);
  }
  void tenure_failed(const At& at, const TenureRef& tenure, BytesView error) override {
    each(keys_, &KeyEffects::tenure_failed, at, tenure, error);
  }
  void ended(const At& at, const TenureRef& tenure, TenureEnd why) override {
    each(keys_, &KeyEffects::ended, at, tenure, why);
  }
  void buried(const At& at, BytesView key, std::uint64_t dead_id, bool quarantined) override {
    each(keys_, &KeyEffects::buried, at, key, dead_id, quarantined);
  }
  void job_restored(const At& at, BytesView key, std::uint64_t ticket, bool dead) override {
    each(keys_, &KeyEffects::job_restored, at, key, ticket, dead);
  }
  void partitions_set(const At& at, const Ring& ring) override { each(keys_, &KeyEffects::partitions_set, at, ring); }
  void partition_made(const At& at, BytesView key, std::uint64_t ticket) override {
    each(keys_, &KeyEffects::partition_made, at, key, ticket);
  }
  void choice_due(const At& at, BytesView key) override { each(keys_, &KeyEffects::choice_due, at, key); }
  void choices_due(const At& at) override { each(keys_, &KeyEffects::choices_due, at); }

  void emitted(const At& at, const Emitted& it) override { each(sources_, &SourceEffects::emitted, at, it); }
  void source_restored(const At& at, BytesView source, std::uint64_t position) override {
    each(sources_, &SourceEffects::source_restored, at, source, position);
  }
  void source_forgotten(const At& at, BytesView source) override {
    each(sources_, &SourceEffects::source_forgotten, at, source);
  }

  void version_switched(const At& at, std::uint32_t version) override {
    each(pool_, &PoolEffects::version_switched, at, version);
  }
  void saved(const At& at, std::uint64_t position) override { each(pool_, &PoolEffects::saved, at, position); }
  void asked(const At& at, const v1::Ask& ask) override { each(pool_, &PoolEffects::asked, at, ask); }
  void shutdown_began(const At& at) override { each(pool_, &PoolEffects::shutdown_began, at); }
  void shutdown_drained(const At& at) override { each(pool_, &PoolEffects::shutdown_drained, at); }
  void pool_gone(const At& at) override { each(pool_, &PoolEffects::pool_gone, at); }
  void restoring(const At& at, const Restored& it) override { each(pool_, &PoolEffects::restoring, at, it); }
  void restored(const At& at, const Restored& it) override { each(pool_, &PoolEffects::restored, at, it); }

 private:
  template <class Group, class... Said, class... Given>
  static void each(const std::vector<Group*>& listeners, void (Group::*what)(Said...), const Given&... given) {
    for (Group* listener : listeners) (listener->*what)(given...);
  }

  std::vector<SessionEffects*> sessions_;
  std::vector<TicketEffects*> tickets_;
  std::vector<KeyEffects*> keys_;
  std::vector<SourceEffects*> sources_;
  std::vector<PoolEffects*> pool_;
};

}  // namespace tenure
