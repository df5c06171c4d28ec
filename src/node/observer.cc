#include "node/observer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/mutant.h"

namespace tenure {
namespace {

// Enough for an append to come back through the log, so that the claims of older members have arrived.
constexpr Nanos kTurnToSpeak = std::chrono::milliseconds(20);

}  // namespace

Observer::Observer(Loop& loop, Sessions sessions, ObserverEvents& events)
    : loop_(loop), sessions_(std::move(sessions)), events_(events), timer_(loop), dead_timer_(loop) {}

void Observer::set_own(std::uint64_t session, Nanos lease) {
  own_ = session;
  own_lease_ = lease;
  last_touch_ = loop_.now();
  count_from_now();
  arm();
  for (auto& [dead, since] : dead_) since = loop_.now();
  speak_of_dead();
}

void Observer::forget(std::uint64_t session) {
  heard_.erase(session);
  dead_.erase(session);
}

void Observer::known_dead(std::uint64_t session) {
  dead_.emplace(session, loop_.now());
  speak_of_dead();
}

void Observer::heard(std::uint64_t session, Position at) {
  if (session == own_) return;
  heard_[session] = {at, touch_clock(), false};
  if (!timer_.armed()) arm();
}

// Between two own beats that came back close to one another, the node was in touch all the time.
void Observer::in_touch() {
  const Instant now = loop_.now();
  const Nanos since = now - last_touch_;
  const bool counts = since <= own_lease_ / 2;
  if (counts) touch_ += since;
  last_touch_ = now;
  if (!counts) count_from_now();
  judge();
  arm();
}

void Observer::reset() {
  heard_.clear();
  for (const auto& [id, session] : sessions().all) heard(id, session.last_beat);
}

// Beats that arrived in a span that does not count have a time that is too late on the touch clock. Move them to now.
void Observer::count_from_now() {
  for (auto& [session, heard] : heard_) heard.touch = std::min(heard.touch, touch_);
}

Nanos Observer::touch_clock() const { return touch_ + (loop_.now() - last_touch_); }

Nanos Observer::silence(std::uint64_t session) const {
  if (session == own_) return loop_.now() - last_touch_;
  const auto found = heard_.find(session);
  return found == heard_.end() ? Nanos{} : touch_clock() - found->second.touch;
}

// A lease, and a little more for each session that is older than this node's and not the suspect itself.
Nanos Observer::patience(std::uint64_t session) const {
  const Session* other = sessions().find(session);
  const Session* own = sessions().find(own_);
  if (other == nullptr || own == nullptr) return Nanos::max();
  Nanos lease = std::chrono::milliseconds(other->lease_ms);
  if (MUTANT(observer_lease_short)) lease /= 2;
  return lease + lease / 20 * static_cast<std::int64_t>(std::min<std::size_t>(elders(session), 10));
}

// The number of members that claim before this node.
std::size_t Observer::elders(std::uint64_t session) const {
  const Session* other = sessions().find(session);
  const Session* own = sessions().find(own_);
  return sessions().rank(*own) - (other->age < own->age ? 1 : 0);
}

// Reports are not repeated. If one gets lost, the lease will tell.
void Observer::speak_of_dead() {
  dead_timer_.cancel();
  if (own_ == 0 || sessions().find(own_) == nullptr) return;
  std::optional<Instant> next;
  for (auto dead = dead_.begin(); dead != dead_.end();) {
    const std::uint64_t session = dead->first;
    const bool there = session != own_ && sessions().find(session) != nullptr;
    const Instant turn = there ? dead->second + kTurnToSpeak * static_cast<std::int64_t>(elders(session)) : Instant{};
    if (there && turn > loop_.now()) {
      next = next ? std::min(*next, turn) : turn;
      ++dead;
      continue;
    }
    dead = dead_.erase(dead);
    if (there) events_.gone(session);
  }
  if (next) dead_timer_.arm(*next, [this] { speak_of_dead(); });
}

void Observer::judge() {
  if (own_ == 0) return;
  for (auto& [session, heard] : heard_) {
    if (heard.claimed || patience(session) == Nanos::max()) continue;
    if (touch_ - heard.touch < patience(session)) continue;
    heard.claimed = true;
    events_.suspect(session, heard.at);
  }
}

void Observer::arm() {
  if (own_ == 0) return timer_.cancel();
  std::optional<Nanos> soonest;
  for (const auto& [session, heard] : heard_) {
    const Nanos patience = this->patience(session);
    if (heard.claimed || patience == Nanos::max()) continue;
    const Nanos left = patience - (touch_clock() - heard.touch);
    if (!soonest || left < *soonest) soonest = left;
  }
  if (!soonest) return timer_.cancel();
  // An own beat is sent then; judge() knows when it is back. While it is in flight no other is requested, except from
  // time to time.
  const Instant again = asked_ + std::max<Nanos>(own_lease_ / 50, std::chrono::milliseconds(1));
  timer_.arm(std::max(loop_.now() + *soonest, again), [this] {
    asked_ = loop_.now();
    events_.touch_wanted();
    arm();
  });
}

}  // namespace tenure
