// What a node does as the log's entries are applied.

#include "base/mutant.h"
#include "node/heart_side.h"
#include "node/node.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

constexpr std::uint64_t kBeatsPerDigest = 5;
constexpr int kDivergencesMax = 5;
constexpr std::uint64_t kBytesPerBeat = 8U << 20;

}  // namespace

bool Node::living(std::uint64_t session) const {
  return session == session_ && (phase_ == Phase::joining || phase_ == Phase::member || phase_ == Phase::leaving);
}

void Node::granted(const At& at, const Grant& grant) {
  epoch_seen_ = std::max(epoch_seen_, grant.tenure.epoch);
  if (Effects* watcher = events_.watcher()) watcher->granted(at, grant);
  if (runtime_) runtime_->granted(grant);
}

void Node::started(const At& at, const TenureRef& tenure) {
  if (Effects* watcher = events_.watcher()) watcher->started(at, tenure);
}

void Node::stop_asked(const At& at, const TenureRef& tenure, StopReason reason) {
  if (Effects* watcher = events_.watcher()) watcher->stop_asked(at, tenure, reason);
  const Nanos patience = std::chrono::milliseconds(machine().config().worker_shutdown_ttl_ms);
  if (runtime_) runtime_->stop_asked(tenure, reason, patience);
}

void Node::message(const At& at, const TenureRef& tenure, std::uint64_t number, BytesView text) {
  if (Effects* watcher = events_.watcher()) watcher->message(at, tenure, number, text);
  if (runtime_) runtime_->message(tenure, number, text);
}

void Node::ended(const At& at, const TenureRef& tenure, TenureEnd why) {
  if (Effects* watcher = events_.watcher()) watcher->ended(at, tenure, why);
  if (runtime_) runtime_->ended(tenure);
}

void Node::buried(const At& at, BytesView key, std::uint64_t id, bool quarantined) {
  if (Effects* watcher = events_.watcher()) watcher->buried(at, key, id, quarantined);
}

void Node::settled(const At& at, const Settlement& settlement) {
  if (Effects* watcher = events_.watcher()) watcher->settled(at, settlement);
  tickets_.tell(settlement);
}

void Node::answer_due(const At& at, const Settlement& settlement) {
  if (Effects* watcher = events_.watcher()) watcher->answer_due(at, settlement);
}

void Node::joined(const At& at, std::uint64_t session) {
  if (Effects* watcher = events_.watcher()) watcher->joined(at, session);
  roster_changed_ = true;
  if (!living(session)) {
    if (world_.known_death != nullptr && phase_ != Phase::loading) world_.known_death->watch(session);
    return observer_.heard(session, machine().position());
  }
  seen_join_ = true;
  joins_missed_ = 0;
  post_to_heart([session](Heart& heart) { heart.confirmed(session, 0); });
}

void Node::beat_seen(const At& at, const SeenBeat& beat) {
  if (Effects* watcher = events_.watcher()) watcher->beat_seen(at, beat);
  replica_.note_read(beat.session, beat.read);
  if (living(beat.session)) {
    post_to_heart([session = beat.session, number = beat.number](Heart& heart) { heart.confirmed(session, number); });
    observer_.in_touch();
    digest_due_ = ++own_beats_ % kBeatsPerDigest == 0;
    return;
  }
  if (MUTANT(beat_confirms_any)) post_to_heart([own = session_](Heart& heart) { heart.confirm_newest(own); });
  observer_.heard(beat.session, machine().position());
  if (beat.digest_position != 0) compare_digest(beat.session, beat.digest_position, beat.digest);
}

void Node::session_ended(const At& at, std::uint64_t session, SessionEnd how) {
  if (Effects* watcher = events_.watcher()) watcher->session_ended(at, session, how);
  roster_changed_ = true;
  observer_.forget(session);
  replica_.forget_reader(session);
  if (world_.known_death != nullptr) world_.known_death->forget(session);
  digests_.erase(session);
  if (!living(session)) return;
  if (phase_ == Phase::leaving && how == SessionEnd::left) return finish();
  fence(FenceReason::expired);
}

void Node::worker_added(const At& at, std::uint64_t session, BytesView worker) {
  if (Effects* watcher = events_.watcher()) watcher->worker_added(at, session, worker);
  const auto own = workers_.find(worker);
  if (!living(session) || own == workers_.end()) return;
  own->second.added = true;
  events_.worker_added(worker);
  if (own->second.removing || closing_) drain(worker);
}

// The id is still another's: a worker that was killed and came back finds its former life not yet expired.
void Node::worker_refused(const At& at, std::uint64_t session, BytesView worker, Errc why) {
  if (Effects* watcher = events_.watcher()) watcher->worker_refused(at, session, worker, why);
  if (!living(session)) return;
  events_.worker_refused(worker, why);
  // No later try would fare better, unless in another session.
  const auto own = workers_.find(worker);
  if (own != workers_.end() && why != Errc::key_exists) own->second.refused = true;
  if (why == Errc::key_exists && !retry_workers_.armed()) {
    retry_workers_.arm(world_.loop.now() + options_.lease / 10, [this] {
      if (phase_ == Phase::member && !closing_) add_workers();
    });
  }
}

void Node::worker_removed(const At& at, std::uint64_t session, BytesView worker) {
  if (Effects* watcher = events_.watcher()) watcher->worker_removed(at, session, worker);
  const auto own = workers_.find(worker);
  if (own == workers_.end()) return;
  if (living(session)) {
    own->second.added = false;
    events_.worker_removed(worker);
    if (own->second.removing) workers_.erase(own);
  } else if (phase_ == Phase::member && !closing_ && !own->second.added) {
    offer_worker(own->second);
  }
}

void Node::choice_due(const At& /*at*/, BytesView key) { steward_.choice_due(key); }

void Node::choices_due(const At& /*at*/) { steward_.choices_due(); }

void Node::saved(const At& /*at*/, std::uint64_t position) { replica_.note_saved(position); }

void Node::shutdown_began(const At& at) {
  if (Effects* watcher = events_.watcher()) watcher->shutdown_began(at);
}

void Node::shutdown_drained(const At& at) {
  if (Effects* watcher = events_.watcher()) watcher->shutdown_drained(at);
  if (runtime_ && options_.leaves_at_shutdown) closing_ = true;
}

void Node::pool_gone(const At& at) {
  if (Effects* watcher = events_.watcher()) watcher->pool_gone(at);
  // The member that left last removes the data. One that merely looks on is told.
  if (runtime_ && session_ != 0) {
    ended_pool_ = machine().sessions().all.empty() && phase_ == Phase::over;
  } else {
    events_.pool_gone();
  }
}

// A beat says how far this node has read. Under a heavy load the others could trim much in the time between two beats.
void Node::say_read() {
  heart_side_->heart().note_read(replica_.position());
  if (phase_ != Phase::member || replica_.bytes_applied() - bytes_said_ < kBytesPerBeat) return;
  bytes_said_ = replica_.bytes_applied();
  touch_wanted();
}

void Node::applied() {
  say_read();
  // What the node said, and was told is kept, never happened.
  const bool met = appender_.all_met(replica_.position(), machine().last_sequence(appender_.sender()));
  if (!met && !MUTANT(lost_records_ignored)) return replica_.abandon();
  tickets_.applied(machine());
  if (const Position where = std::exchange(diverged_, 0); where != 0) {
    // It may be a digest of a history that is gone. A state that differs again after a reload is another matter.
    if (++divergences_ < kDivergencesMax) return replica_.abandon();
    return break_down({Errc::corrupt, "compare state",
                       "this node's state differs from the others' at position " + std::to_string(where) +
                           ": it has stopped; restart it, and report this"});
  }
  if (std::exchange(roster_changed_, false)) {
    const Session* own = machine().sessions().find(session_);
    if (own != nullptr) replica_.set_rank(machine().sessions().rank(*own));
  }
  if (std::exchange(digest_due_, false)) {
    post_to_heart([position = replica_.position(), digest = machine().digest()](Heart& heart) {
      heart.note_digest(position, digest);
    });
  }
  events_.applied(machine());
  if (phase_ == Phase::loading && end_position_ && replica_.position() >= *end_position_) return reach_end();
  if (phase_ == Phase::joining) {
    check_join();
    if (phase_ != Phase::joining) return;
  }
  steward_.look(machine(), phase_ == Phase::member ? session_ : 0, replica_.applied_at());
  const bool removing =
      std::any_of(workers_.begin(), workers_.end(), [](const auto& entry) { return entry.second.removing; });
  if (closing_ || removing) check_leaving();
}

void Node::reloaded() {
  appender_.reader_reloaded();
  tickets_.in_doubt();
  roster_changed_ = true;
  digests_.clear();
  observer_.reset();
  steward_.reset();
  epoch_seen_ = std::max(epoch_seen_, machine().epoch_last());
}

void Node::history_lost() {
  ++histories_;
  end_position_.reset();
  if (phase_ == Phase::member || phase_ == Phase::joining || phase_ == Phase::leaving) {
    return fence(FenceReason::history_lost);
  }
  if (phase_ == Phase::fenced) reload_due_ = true;
  if (phase_ == Phase::fenced || phase_ == Phase::over) return;
  phase_ = Phase::loading;
  const bool ending = machine().shutting_down() || expects_end_;
  finding_out_ = ending && workers_.empty() && events_.finds_out_the_end();
  if (finding_out_) return;
  replica_.resume();
  seek_end();
}

void Node::reload() {
  if (!std::exchange(finding_out_, false)) return;
  replica_.resume();
  seek_end();
}

void Node::broken(const Error& error) { break_down(error); }

void Node::snapshot_stored(Position position) {
  v1::Record record;
  record.mutable_saved()->set_position(position);
  appender_.offer(record);
}

void Node::suspect(std::uint64_t session, Position last_beat) {
  v1::Record record;
  record.mutable_expire()->set_session(session);
  record.mutable_expire()->set_last_beat(last_beat);
  appender_.offer(record);
}

void Node::gone(std::uint64_t session) { offer_end(session, v1::End::CRASHED); }

// Sessions that came and went while the log was read are of no interest; those that are left are.
void Node::watch_all() {
  if (world_.known_death == nullptr) return;
  for (const auto& [session, state] : machine().sessions().all) {
    if (session != session_) world_.known_death->watch(session);
  }
}

void Node::let_go(std::uint64_t session) {
  if (world_.known_death != nullptr && session != 0) world_.known_death->let_go(session);
}

void Node::touch_wanted() {
  post_to_heart([](Heart& heart) { heart.beat_now(); });
}

// Nodes that have applied the same entries must agree. If most others differ from this node, it is this node that
// is wrong; where two sides are equal, the eldest is taken to be right.
void Node::compare_digest(std::uint64_t session, Position position, std::uint64_t digest) {
  const std::optional<std::uint64_t> own = replica_.digest_at(position);
  if (!own) return;
  digests_[session] = *own == digest;
  if (*own == digest || phase_ != Phase::member) return;

  std::size_t with = 1;
  std::size_t against = 0;
  bool eldest_with = machine().sessions().eldest()->id == session_;
  for (const auto& [other, agrees] : digests_) {
    ++(agrees ? with : against);
    if (agrees && machine().sessions().eldest()->id == other) eldest_with = true;
  }
  if (against > with || (against == with && !eldest_with)) diverged_ = position;
}

}  // namespace tenure
