// How a node reads a log to its end, loses it, and stops.

#include <algorithm>
#include <string>
#include <utility>

#include "base/mutant.h"
#include "machine/limits.h"
#include "node/node.h"
#include "node/records.h"

namespace tenure {
namespace {

constexpr int kRemovalTriesMax = 50;
constexpr Nanos kRemovalPause = std::chrono::milliseconds(200);
constexpr Nanos kMarkAgain = std::chrono::seconds(1);

}  // namespace

std::string_view to_string(FenceReason reason) {
  switch (reason) {
    case FenceReason::lease_lost: return "no beat was confirmed in time";
    case FenceReason::expired: return "the others declared it dead";
    case FenceReason::history_lost: return "the log lost entries that had been read";
    case FenceReason::diverged: return "its state differs from the others'";
    case FenceReason::host_lost: return "the process of the handlers is gone";
    case FenceReason::broken: return "the log cannot be read any more";
  }
  return "unknown";
}

// From the newest snapshot to the log's end.
void Node::load(IfGone if_gone) {
  farewell_.stop();
  starting_over_ = false;
  phase_ = Phase::loading;
  membership_.loading();
  replica_.resume(if_gone);
  seek_end();
}

// Another process removes the log of a pool that has ended. It may do so before this node has read the end. A node that
// made the log again would leave an empty one behind. So it makes none while the pool is ending, if it only reads or is
// leaving.
IfGone Node::if_gone() const {
  const bool ending = machine().shutting_down() || expects_end_;
  const bool leaving = closing_ && machine().drained();
  const bool ends_with_log = ending && (leaving || !has_workers());
  return ends_with_log ? IfGone::report : IfGone::create;
}

// Writes a record that marks the log's end. Once it is applied, everything before it has been applied, too.
void Node::seek_end() {
  forget_end();
  mark_end();
}

// The log may be replaced before this node has read anything of it. The node cannot notice that, and the mark's
// position means nothing in the new log, whose positions may begin at one. So a mark that is not reached is followed by
// others, and the lowest one counts.
void Node::mark_end() {
  const auto appended = [this, seek = seek_](Position end) {
    if (seek != seek_) return;
    end_position_ = std::min(end, end_position_.value_or(end));
    if (replica_.position() >= *end_position_) return reach_end();
    mark_again_.arm(world_.loop.now() + kMarkAgain, [this] { mark_end(); });
  };
  appender_.offer(tick_record(), {.sent = nullptr, .appended = appended});
}

void Node::forget_end() {
  ++seek_;
  end_position_.reset();
  mark_again_.cancel();
}

void Node::reach_end() {
  forget_end();
  if (machine().gone()) {
    if (sees_end_) return farewell_.begin();
    if (!options_.removes_log) events_.caught_up();
    return start_over();
  }
  phase_ = Phase::following;
  membership_.reached_end();
  events_.caught_up();
  if (machine().drained()) shutdown_drained({});  // a state that was loaded does not say so
  join_or_finish();
}

void Node::join_or_finish() {
  if (closing_ && keys_ && machine().drained()) return see_off();  // whoever is still in it may be dead
  if (closing_) return finish();
  if (has_workers()) membership_.join(healer_.remembered());
}

void Node::left() {
  if (!machine().drained() || MUTANT(shutdown_left_early)) return finish();
  see_off();
}

// The pool has nothing left to do, and this node has no session in it. The pool is gone when no session is left.
void Node::see_off() {
  membership_.stop();
  farewell_.begin();
}

void Node::seen_off() {
  if (std::exchange(starting_over_, false)) return remove_and_load();
  if (!options_.leaves_at_shutdown) {
    seen_off_due_ = true;  // the other shards go first
    return;
  }
  ended_pool_ = !MUTANT(shutdown_keeps_log);
  finish();
}

// The pool was shut down, but the process that should have removed its data did not. If that is not this node's task,
// it waits: its history is lost then, and it starts over.
void Node::start_over() {
  phase_ = Phase::loading;
  membership_.loading();
  if (!options_.removes_log) return;
  starting_over_ = true;
  farewell_.begin();
}

void Node::remove_and_load() {
  forget_end();  // entries that come meanwhile are still of the old log
  remove_log(token_.guard([this, histories = histories_] {
    if (histories != histories_) return;  // the reader has noticed, and started over
    ++histories_;
    load(IfGone::create);
  }));
}

void Node::remove_log(std::function<void()> done) {
  if (!options_.removes_log) return world_.loop.post(std::move(done));
  auto remove =
      token_.guard([this, done = std::move(done), histories = histories_] { try_to_remove(done, histories, 1); });
  if (!options_.before_removal) return remove();
  options_.before_removal([loop = &world_.loop, remove] { loop->post(remove); });
}

// An engine that is away, or whose answer was lost, is asked again for a while. One that finds another log in its place
// says so, and the work is done. It is also done if this node has noticed meanwhile that its history is lost: from then
// on its handle is that of another log, which must not be removed.
void Node::try_to_remove(const std::function<void()>& done, std::uint64_t histories, int tries) {
  if (histories != histories_ && !MUTANT(removes_next_log)) return done();
  auto answered = token_.guard([this, done, histories, tries](const Status& removed) {
    const bool away = !removed && (removed.error().code == Errc::unavailable || removed.error().code == Errc::unknown);
    if (!away || tries == kRemovalTriesMax) return done();
    removal_.arm(world_.loop.now() + kRemovalPause,
                 [this, done, histories, tries] { try_to_remove(done, histories, tries + 1); });
  });
  world_.log.remove([loop = &world_.loop, answered](const Status& removed) {
    loop->post([answered, removed]() mutable { answered(removed); });
  });
}

void Node::not_taken() {
  if (machine().gone()) {
    membership_.give_up_session();
    return start_over();
  }
  break_down({Errc::refused, "join",
              machine().version() > machine().speaks()
                  ? "the pool has machine version " + std::to_string(machine().version()) + ": use a newer program"
                  : "the pool refused this node (lease out of range, or too many members)"});
}

void Node::history_lost() {
  ++histories_;
  forget_end();
  const bool lease_valid = membership_.member() && world_.loop.now().since_boot.count() < lease_until();
  healer_.history_lost(lease_valid, replica_.applied_at());
  if (replica_.fell_behind()) healer_.distrust();
  if (membership_.alive()) return membership_.fence(FenceReason::history_lost);
  if (membership_.fenced()) {
    reload_due_ = true;
    return;
  }
  if (phase_ == Phase::over) return;
  load(if_gone());
}

// The pool has ended.
void Node::log_gone() {
  if (phase_ == Phase::over) return;
  events_.pool_gone();
  finish();
}

void Node::stopped(std::uint64_t session, FenceReason reason) {
  if (failure_) return finish();
  keys_->workers().drop_removed();
  membership_.give_up_session();
  if (std::exchange(reload_due_, false) || reason == FenceReason::history_lost) return load(if_gone());
  if (reason == FenceReason::lease_lost) membership_.write_end(session, v1::End::FENCED);
  // Like a crash of this process. It blames no job: who has killed the guard is for the host to find.
  if (reason == FenceReason::host_lost) membership_.write_end(session, v1::End::CRASHED);
  if (leaves_now()) return see_off();
  join_or_finish();
}

// Later, and not during an entry, because the owner may destroy the node in this call.
void Node::finish() {
  if (phase_ == Phase::over) return;
  phase_ = Phase::over;
  forget_end();
  farewell_.stop();
  membership_.stop();
  world_.loop.post(token_.guard([this] {
    auto tell = token_.guard([this] {
      if (failure_) return events_.broken(*failure_);
      if (ended_pool_) events_.pool_gone();
      events_.closed();
    });
    if (!ended_pool_) return tell();
    // Even if it could not be removed: the state says that the pool has ended, and the next opener tries again.
    if (world_.known_death != nullptr) world_.known_death->pool_ended();
    remove_log(std::move(tell));
  }));
}

void Node::break_down(const Error& error) {
  if (failure_ || phase_ == Phase::over) return;
  failure_ = error;
  if (membership_.alive()) return membership_.fence(FenceReason::broken);
  if (!membership_.fenced()) finish();
}

}  // namespace tenure
