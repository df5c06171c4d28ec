// How a node becomes a member, stops being one, and becomes one again.

#include <algorithm>

#include "node/heart_side.h"
#include "node/node.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

constexpr int kJoinsMissedMax = 5;
constexpr std::size_t kFormerMax = 16;  // sessions; one that is older is left to its lease

}  // namespace

std::string_view to_string(FenceReason reason) {
  switch (reason) {
    case FenceReason::lease_lost: return "no beat was confirmed in time";
    case FenceReason::expired: return "the others declared it dead";
    case FenceReason::history_lost: return "the log lost what had been read";
    case FenceReason::diverged: return "its state differs from the others'";
    case FenceReason::host_lost: return "what ran the handlers is gone";
    case FenceReason::broken: return "the log cannot be followed any more";
  }
  return "unknown";
}

// An own record marks where the log's end is now: once it has been applied, everything before it has been.
void Node::seek_end() {
  end_position_.reset();
  v1::Record record;
  record.mutable_tick();
  const std::uint64_t histories = histories_;
  appender_.offer(record, {nullptr, [this, histories](Position end) {
                             if (histories != histories_) return;
                             end_position_ = end;
                             if (phase_ == Phase::loading && replica_.position() >= end) reach_end();
                           }});
}

void Node::reach_end() {
  if (machine().gone()) {
    if (!options_.removes_log) events_.caught_up();
    return start_over();
  }
  phase_ = Phase::outside;
  // What is left of the history may still have sessions that this node gave up: the last one, and those before it whose
  // ends were lost. Until they are over nobody gets what they held.
  for (const std::uint64_t former : former_) {
    if (machine().sessions().find(former) != nullptr) offer_end(former, v1::End::FENCED);
  }
  watch_all();
  events_.caught_up();
  if (closing_) return finish();
  if (!workers_.empty()) join();
}

// The pool was shut down, and whoever should have removed its data did not get to it. Where that is not for this node
// to do, it waits for it to be done: its history is lost then, and it begins anew.
void Node::start_over() {
  phase_ = Phase::loading;
  if (!options_.removes_log) return;
  auto done = token_.guard([this, histories = histories_] {
    if (histories != histories_) return;  // the reader has noticed, and begun anew
    ++histories_;
    replica_.resume();
    seek_end();
  });
  remove_log(std::move(done));
}

void Node::remove_log(std::function<void()> done) {
  if (!options_.removes_log) return world_.loop.post(std::move(done));
  auto remove = [log = &world_.log, loop = &world_.loop, done = std::move(done)] {
    log->remove([loop, done](const Status&) { loop->post(done); });
  };
  if (!options_.before_removal) return remove();
  options_.before_removal(std::move(remove));
}

void Node::join() {
  phase_ = Phase::joining;
  session_ = world_.entropy.id();
  former_.push_back(session_);
  if (former_.size() > kFormerMax) former_.pop_front();
  seen_join_ = false;
  join_position_.reset();
  if (world_.known_death != nullptr) world_.known_death->hold(session_);
  v1::Record record;
  v1::Join& join = *record.mutable_join();
  join.set_session(session_);
  join.set_node(options_.name);
  join.set_host(options_.host);
  join.set_pid(options_.pid);
  join.set_lease_ms(static_cast<std::uint32_t>(to_ms(options_.lease)));
  join.set_speaks(kMachineVersion);
  join.set_epoch_floor(epoch_seen_);
  encode_config(options_.config, *join.mutable_configure());
  const std::uint64_t session = session_;
  appender_.offer(record, {[this, session](Instant sent) {
                             post_to_heart([session, lease = options_.lease, sent](Heart& heart) {
                               heart.begin(session, lease, sent);
                             });
                           },
                           [this, session](Position joined) {
                             if (session != session_) return;
                             join_position_ = joined;
                             // Some entry has to follow, so that a join that was lost or refused is noticed.
                             v1::Record tick;
                             tick.mutable_tick();
                             appender_.offer(tick);
                           }});
}

// A join that was acknowledged and is not there. The log may have lost it; if that seems to happen again and again,
// the machine does not take it: the pool has rules that this program does not speak, or is full.
void Node::check_join() {
  if (phase_ != Phase::joining || seen_join_ || !join_position_ || replica_.position() < *join_position_) return;
  if (machine().gone()) return start_over();
  if (++joins_missed_ < kJoinsMissedMax) return replica_.abandon();
  break_down({Errc::refused, "join",
              machine().version() > kMachineVersion
                  ? "the pool speaks machine version " + std::to_string(machine().version()) + ": use a newer program"
                  : "the pool did not take this node (lease out of range, or too many members)"});
}

// The join came back, and the heart watches over the lease: from here on keys may be held.
void Node::lease_armed(std::uint64_t session) {
  if (session != session_ || phase_ != Phase::joining) return;
  phase_ = Phase::member;
  runtime_->begin(session_, [this] { return lease_until(); });
  observer_.set_own(session_, options_.lease);
  events_.joined(session_);
  if (closing_) return check_leaving();
  for (auto& [id, worker] : workers_) worker.refused = false;
  add_workers();
}

void Node::add_workers() {
  for (auto& [id, worker] : workers_) {
    if (!worker.added && !worker.refused) offer_worker(worker);
  }
}

void Node::offer_worker(const OwnWorker& worker) {
  v1::Record record;
  v1::AddWorker& add = *record.mutable_add_worker();
  add.set_session(session_);
  add.set_worker(worker.options.id);
  add.set_weight(worker.options.weight);
  add.set_window(worker.options.window);
  add.set_replaces(worker.options.replaces);
  for (const Bytes& key : worker.options.serves) add.add_serves(key);
  appender_.offer(record);
}

// Everything this session holds is stopped before anything else is done.
void Node::fence(FenceReason reason) {
  if (phase_ != Phase::member && phase_ != Phase::joining && phase_ != Phase::leaving) return;
  phase_ = Phase::fenced;
  observer_.set_own(0, {});
  steward_.reset();
  retry_workers_.cancel();
  for (auto& [id, worker] : workers_) worker.added = false;
  events_.fenced(session_, reason);
  runtime_->fence([this, session = session_, reason] { all_stopped(session, reason); });
}

void Node::all_stopped(std::uint64_t session, FenceReason reason) {
  post_to_heart([session](Heart& heart) { heart.end(session); });
  let_go(session);
  if (failure_) return finish();
  std::erase_if(workers_, [](const auto& entry) { return entry.second.removing; });
  if (std::exchange(reload_due_, false) || reason == FenceReason::history_lost) {
    phase_ = Phase::loading;
    replica_.resume();
    return seek_end();
  }
  if (reason == FenceReason::lease_lost || reason == FenceReason::host_lost) offer_end(session, v1::End::FENCED);
  phase_ = Phase::outside;
  if (closing_ || (machine().drained() && options_.leaves_at_shutdown)) return finish();
  if (!workers_.empty()) join();
}

void Node::close() {
  if (closing_) return;
  closing_ = true;
  if (phase_ == Phase::outside) return finish();
  if (phase_ == Phase::member) check_leaving();
}

// While closing, or removing workers: hands over step by step, as the machine lets go of what is held.
void Node::check_leaving() {
  if (phase_ != Phase::member) return;
  if (closing_ && !drain_sent_) {
    drain_sent_ = true;
    for (const auto& [id, worker] : workers_) drain(id);
    runtime_->give_back_waiting(session_);
    const Nanos patience = std::chrono::milliseconds(machine().config().worker_shutdown_ttl_ms);
    close_deadline_.arm(world_.loop.now() + patience, [this] { runtime_->stop_all(world_.loop.now()); });
  }
  bool holding = runtime_->running() != 0;
  for (auto& [id, worker] : workers_) {
    const WorkerIx ix = machine().workers().find(id);
    if (ix == kNone || machine().workers()[ix].session != session_) continue;
    const PoolWorker& state = machine().workers()[ix];
    const bool empty = state.draining && state.keys_held == 0;
    holding = holding || !empty;
    if (worker.removing && empty && !std::exchange(worker.removed, true)) {
      v1::Record record;
      record.mutable_remove_worker()->set_session(session_);
      record.mutable_remove_worker()->set_worker(id);
      appender_.offer(record);
    }
  }
  if (closing_ && !holding) leave();
}

// Nothing is held, and nothing will be: a grant that is still under way is ignored, and the end of the session, which
// lies behind it in the log, lets the next one have the key.
void Node::leave() {
  phase_ = Phase::leaving;
  runtime_->fence([] {});
  v1::Record record;
  record.mutable_end()->set_session(session_);
  record.mutable_end()->set_reason(v1::End::LEFT);
  appender_.offer_behind_requests(record);  // what was asked here before is still asked
}

// Nothing of the session runs any more, so that others need not wait for its lease.
void Node::offer_end(std::uint64_t session, int reason) {
  v1::Record record;
  record.mutable_end()->set_session(session);
  record.mutable_end()->set_reason(static_cast<v1::End::Reason>(reason));
  appender_.offer(record);
}

// Later, and not in the middle of an entry: the owner may destroy the node when it hears of it.
void Node::finish() {
  if (phase_ == Phase::over) return;
  phase_ = Phase::over;
  close_deadline_.cancel();
  let_go(session_);
  post_to_heart([session = session_](Heart& heart) { heart.end(session); });
  world_.loop.post(token_.guard([this] {
    auto tell = token_.guard([this] {
      if (failure_) return events_.broken(*failure_);
      if (ended_pool_) events_.pool_gone();
      events_.closed();
    });
    if (!ended_pool_) return tell();
    // Whether or not it could be removed: the state says that the pool is gone, and the next opener tries again.
    remove_log(std::move(tell));
  }));
}

void Node::break_down(const Error& error) {
  if (failure_ || phase_ == Phase::over) return;
  failure_ = error;
  if (phase_ == Phase::member || phase_ == Phase::joining || phase_ == Phase::leaving) {
    return fence(FenceReason::broken);
  }
  if (phase_ != Phase::fenced) finish();
}

}  // namespace tenure
