#include "node/farewell.h"

#include <algorithm>

#include "base/mutant.h"
#include "node/records.h"

namespace tenure {

using std::chrono::milliseconds;

void Farewell::begin() {
  if (active_) return;
  active_ = true;
  parting_ = false;
  heard_.clear();
  read_at_ = loop_.now();
  tick_at(loop_.now());
}

void Farewell::stop() {
  active_ = false;
  tick_.cancel();
}

bool Farewell::look(const Machine& machine) {
  const bool over = machine.gone() && part(machine);
  if (!machine.gone()) watch(machine);
  if (over) stop();
  return over;
}

// Like a member's beats, this node's ticks come back all the time. If they did not, the node was out of touch, and the
// silence of others means nothing.
void Farewell::watch(const Machine& machine) {
  const auto& sessions = machine.sessions().all;
  Nanos shortest = milliseconds(kLeaseMsMax);
  for (const auto& [id, session] : sessions) shortest = std::min<Nanos>(shortest, milliseconds(session.lease_ms));
  const Instant now = loop_.now();
  if (now - read_at_ > shortest / 2) heard_.clear();
  read_at_ = now;

  std::erase_if(heard_, [&](const auto& heard) { return !sessions.contains(heard.first); });
  for (const auto& [id, session] : sessions) {
    Heard& heard = heard_[id];
    if (heard.beat != session.last_beat) heard = {session.last_beat, now, false};
    if (heard.ended || now - heard.since < milliseconds(session.lease_ms)) continue;
    heard.ended = true;
    v1::Record record;
    record.mutable_expire()->set_session(id);
    record.mutable_expire()->set_last_beat(heard.beat);
    appender_.offer(record);
  }
  if (!tick_.armed()) tick_at(now + shortest / 4);
}

// An entry with a later time than the one before it shows what the engine's clock says. If the times are equal, the
// clock may have been set back: then the log's time stands still until the clock has caught up.
bool Farewell::part(const Machine& machine) {
  if (MUTANT(log_removed_too_soon)) return true;
  const bool shown = parting_ && machine.engine_ms() > engine_ms_;
  if (!parting_) parting_since_ = loop_.now();
  parting_ = true;
  engine_ms_ = machine.engine_ms();
  const auto passed_us = static_cast<std::uint64_t>(std::max<std::int64_t>(engine_ms_ - kClockSlackMs, 0)) * 1000;
  if (shown && passed_us > machine.epoch_last()) return true;
  if (loop_.now() - parting_since_ >= kPartingMax) return true;
  tick_at(loop_.now() + milliseconds(1));
  return false;
}

void Farewell::tick_at(Instant when) {
  tick_.arm(when, [this] { appender_.offer(tick_record()); });
}

}  // namespace tenure
