#include "node/node.h"

#include <utility>

#include "base/assert.h"
#include "base/mutant.h"
#include "node/records.h"

namespace tenure {
namespace {

constexpr int kDivergencesMax = 5;

std::unique_ptr<KeysPart> keys_part(const NodeWorld& world, const NodeOptions& options, Appender& appender,
                                    const ReplicaOf<Machine>& replica, NodeEvents& events) {
  if (world.host == nullptr) return nullptr;
  return std::make_unique<KeysPart>(
      world.loop, *world.host, appender, replica, events,
      KeysPart::Options{.retry_worker_after = options.lease / 10, .look_every = options.look_every});
}

}  // namespace

Node::Node(const NodeWorld& world, NodeOptions options, NodeEvents& events)
    : world_(world),
      options_(std::move(options)),
      events_(events),
      appender_(world.log, world.loop, world.clock, world.entropy, *this),
      replica_(world.log, world.loop, world.entropy, options_.replica, options_.speaks, effects_, *this),
      tickets_(appender_, events_),
      keys_(keys_part(world_, options_, appender_, replica_, events_)),
      membership_(world_, options_, appender_, replica_, keys_.get(), events_, *this),
      steward_(world.loop, appender_, membership_.observer(), options_.choose, events_),
      farewell_(world.loop, appender_),
      removal_(world.loop),
      mark_again_(world.loop),
      healer_(world.loop, appender_,
              {.on = options_.restores && keys_ != nullptr,
               .remembers = keys_ != nullptr,
               .lease = options_.lease,
               .part_bytes = options_.restore_part_bytes},
              *this) {}

Node::~Node() = default;

void Node::listen(PoolWatcher& watcher) {
  effects_.add(watcher);
  watchers_.push_back(&watcher);
}

// The node's own parts come last: other listeners get an effect before the node acts on it.
void Node::start() {
  effects_.add_tickets(tickets_);
  if (keys_) keys_->listen_to(effects_);
  effects_.add_sessions(membership_);
  steward_.listen_to(effects_);
  effects_.add_pool(healer_);
  effects_.add_pool(*this);
  replica_.start();
  seek_end();
}

void Node::add_worker(NodeWorker worker) {
  ASSERT(keys_ != nullptr);
  keys_->workers().add(std::move(worker));
  if (phase_ == Phase::following && membership_.outside()) membership_.join(healer_.remembered());
}

void Node::remove_worker(BytesView id) {
  if (keys_) keys_->remove(id);
}

void Node::serve(BytesView worker, std::vector<Bytes> add, std::vector<Bytes> remove) {
  if (keys_) keys_->workers().serve(worker, std::move(add), std::move(remove));
}

Result<std::uint64_t> Node::ask(const Request& request) {
  if (Status sound = request.check(); !sound) return Failure(sound.error());
  const std::uint64_t ticket = world_.entropy.id();
  Bytes record;
  request.encode(ticket, false, record);
  if (Status sent = send({ticket, request.single(), record}, nullptr); !sent) return Failure(sent.error());
  return ticket;
}

Status Node::send(const SealedRequest& request, std::shared_ptr<OpenTicket> ticket) {
  SealedRequests alone;
  alone.add(request, std::move(ticket));
  return send(alone);
}

Status Node::send(SealedRequests& requests) {
  if (phase_ == Phase::over || failure_) return fail(Errc::closed, "append", "the node has stopped");
  if (!appender_.has_room()) return busy();
  if (!options_said_) say_options();
  appender_.offer_requests(requests.records);
  // Nobody needs the age of a node's oldest ticket, and reading the clock for each would be a tenth of the cost here.
  tickets_.add(requests.asked, Instant{});
  return {};
}

// Before the first request, in the same batch. Nothing if the pool is known to have options.
void Node::say_options() {
  options_said_ = true;
  const bool known = phase_ == Phase::following && machine().configured();
  if (options_.sets_options && !known) appender_.offer(options_record(options_.config));
}

void Node::compare_options() {
  if (options_compared_ || phase_ != Phase::following || !machine().configured()) return;
  options_compared_ = true;
  if (!differing_options(options_.config, machine().config()).empty()) events_.options_differ(machine().config());
}

void Node::drain(BytesView worker) { appender_.offer(drain_record(worker)); }

void Node::shut_down() {
  v1::Record record;
  record.mutable_shutdown();
  appender_.offer_behind_requests(record);
}

void Node::shut_down_and_see() {
  sees_end_ = true;
  options_.leaves_at_shutdown = true;  // the other shards have been shut down by then
  if (std::exchange(seen_off_due_, false)) return seen_off();
  shut_down();
}

void Node::leave_at_shutdown() {
  options_.leaves_at_shutdown = true;
  if (std::exchange(seen_off_due_, false)) return seen_off();
  if (sees_end_ && membership_.outside()) return;  // it sees the pool to its end anyway
  if (keys_ && machine().drained()) close();
}

void Node::close() {
  if (std::exchange(closing_, true)) return;
  if (keys_) keys_->close();
  if (phase_ == Phase::following && membership_.outside()) return finish();
  membership_.check_leaving();
}

void Node::append_gave_up() { tickets_.append_gave_up(); }

void Node::append_refused(const Error& error) { break_down(error); }

// Whichever part notices first that the log is away: it is reported once, and once when all is well again.
void Node::delayed(bool& what, const Error& error) {
  if (!appends_delayed_ && !reads_delayed_) events_.log_delayed(error);
  what = true;
}

void Node::resumed(bool& what) {
  what = false;
  if (!appends_delayed_ && !reads_delayed_) events_.log_resumed();
}

void Node::applied() {
  membership_.note_read();
  // Records that the node sent, and that were acknowledged, are lost.
  const bool met = appender_.all_met(replica_.position(), machine().last_sequence(appender_.sender()));
  if (!met && !MUTANT(lost_records_ignored)) return replica_.abandon();
  tickets_.applied(replica_.position(), machine());
  if (handled_divergence()) return;
  membership_.note_applied();
  events_.applied(machine());
  for (PoolWatcher* watcher : watchers_) watcher->applied(machine());
  if (farewell_.active()) return farewell_.look(machine()) ? seen_off() : void();
  if (sees_end_ && machine().shutting_down() && membership_.outside() && !has_workers()) return farewell_.begin();
  if (phase_ == Phase::loading && end_position_ && replica_.position() >= *end_position_) {
    reach_end();
    return compare_options();
  }
  compare_options();
  if (!membership_.check_join()) return;
  healer_.look(machine(), living_session());
  steward_.look(machine(), session(), membership_.rank(), replica_.applied_at());
  membership_.check_leaving();
}

// The digest may be from a lost history. But a state that differs again after a reload is an error.
bool Node::handled_divergence() {
  const Position where = membership_.take_divergence();
  if (where == 0) return false;
  if (++divergences_ < kDivergencesMax) {
    replica_.abandon();
    healer_.distrust();
  } else {
    break_down({Errc::corrupt, "compare state",
                "this node's state differs from the others' at position " + std::to_string(where) +
                    ": it has stopped; restart it, and report this"});
  }
  return true;
}

void Node::reloaded() {
  options_said_ = false;
  appender_.reader_reloaded();
  tickets_.in_doubt();
  membership_.reloaded();
  steward_.reset();
  healer_.reloaded(replica_.take_replaced(), replica_.removed_ms());
}

std::uint64_t Node::living_session() const {
  return membership_.alive() && machine().sessions().find(session()) != nullptr ? session() : 0;
}

void Node::broken(const Error& error) { break_down(error); }

void Node::snapshot_stored(Position position) {
  v1::Record record;
  record.mutable_saved()->set_position(position);
  appender_.offer(record);
}

void Node::shutdown_drained(const At& /*at*/) {
  if (!keys_ || !options_.leaves_at_shutdown) return;
  closing_ = true;
  keys_->close();
}

// The node that sees the pool to its end removes the data. A node that only reads tells its owner.
void Node::pool_gone(const At& /*at*/) {
  if (farewell_.active() || phase_ == Phase::over) return;
  if (sees_end_) return farewell_.begin();
  // While the log is being loaded this is the past. reach_end() starts over.
  if (phase_ == Phase::following && membership_.outside()) events_.pool_gone();
}

}  // namespace tenure
