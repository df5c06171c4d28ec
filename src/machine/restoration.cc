#include "machine/restoration.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "machine/limits.h"
#include "machine/load.h"
#include "machine/restore_source.h"
#include "tenure/v1/restore.pb.h"

namespace tenure {

void Restoration::joined(bool newcomer) {
  if (std::exchange(state_.joined, true) || !newcomer) return;
  if (state_.origin == RestorationState::Origin::open && !state_.under_way) close(RestorationState::Origin::begun);
}

bool Restoration::is_undecided() const {
  if (state_.under_way) return true;
  if (state_.origin != RestorationState::Origin::open || context_.log_time_ms() > kRestoreWithinMs) return false;
  const auto& sessions = context_.sessions().all;
  return std::any_of(sessions.begin(), sessions.end(), [](const auto& entry) { return entry.second.restores; });
}

void Restoration::note_job(std::uint64_t ticket) {
  state_.tickets.insert(ticket);
  if (state_.tickets.size() > kTicketsNotedMax && !state_.under_way) close(RestorationState::Origin::begun);
}

void Restoration::close(RestorationState::Origin origin) {
  state_.origin = origin;
  state_.tickets.clear();
}

void Restoration::session_ended(std::uint64_t session) {
  if (state_.session == session) state_.session = 0;
}

bool Restoration::may_begin(const v1::Restore& record) const {
  if (context_.sessions().find(record.session()) == nullptr || context_.shutting_down() || state_.under_way ||
      record.part() != 0) {
    return false;
  }
  const bool answered = record.request() != 0 && record.request() == state_.request;
  if ((record.on_request() && !answered) ||
      (MUTANT(restored_twice) && state_.origin == RestorationState::Origin::restored)) {
    return true;
  }
  return state_.origin == RestorationState::Origin::open && context_.log_time_ms() <= kRestoreWithinMs;
}

bool Restoration::brings_options(const v1::Restore& record) const {
  return may_begin(record) && !record.on_request() && record.has_configure();
}

void Restoration::begin(const v1::Restore& record) {
  RestorationState next;
  next.origin = state_.origin;
  next.joined = true;
  next.tickets = std::move(state_.tickets);
  state_ = std::move(next);
  state_.under_way = true;
  state_.on_request = record.on_request();
  state_.request = record.request();
  state_.position = record.position();
  state_.log = record.log();
  state_.session = record.session();
  context_.raise_epoch(std::min(record.epoch(), kEpochFloorMax));
  if (!state_.on_request) {
    for (const v1::SenderState& sender : record.senders()) {
      frame_.senders.merge(sender.id(), sender.last(), sender.seen(), frame_.log_time_ms);
    }
  }
  if (MUTANT(restored_epochs_low)) context_.forget_epochs();
  context_.note(state_.session);
  context_.effects().restoring(context_.at(), summary());
  sources_.put_back(record);
}

void Restoration::on(const v1::Restore& record) {
  if (may_begin(record)) {
    begin(record);
  } else if (!state_.under_way || state_.on_request != record.on_request() || state_.parts != record.part() ||
             context_.shutting_down() || context_.sessions().find(record.session()) == nullptr ||
             (state_.session != 0 && state_.session != record.session())) {
    return context_.refuse_record();
  }
  if (state_.log != record.log() || state_.position != record.position()) go_on_with(record);
  state_.session = record.session();
  ++state_.parts;
  for (const v1::RememberedKey& key : record.keys()) {
    if (key.key() != state_.partial) let_go_of_partial();
    // One that is back already, since another member had begun.
    if (state_.any_key && !comes_before(state_.key, key.key())) continue;
    const Restorer::Count count = restorer_.put_back(key, {.on_request = state_.on_request,
                                                           .partial = state_.partial == key.key(),
                                                           .there = state_.tickets,
                                                           .back = state_.partial_tickets});
    state_.jobs += count.back;
    state_.left_out += count.left_out;
    if (key.more()) {
      state_.partial = key.key();
      for (const v1::RememberedJob& job : key.jobs()) state_.partial_tickets.insert(job.job().ticket());
    } else {
      state_.keys += count.back != 0 ? 1 : 0;
      state_.any_key = true;
      state_.key = key.key();
      state_.partial.clear();
      state_.partial_tickets.clear();
    }
  }
  if (record.last()) finish();
}

// The member that had begun has died, and another one that has read less or more goes on. Keys that are back stay as
// they are. For each source the lower of the two positions counts, because the second member may lack keys with tasks
// above it. The source emits these tasks again, so some are done twice.
void Restoration::go_on_with(const v1::Restore& record) {
  state_.session = record.session();
  state_.position = record.position();
  state_.log = record.log();
  context_.raise_epoch(std::min(record.epoch(), kEpochFloorMax));
  context_.note(state_.position);
  context_.effects().restoring(context_.at(), summary());
  if (!state_.on_request) sources_.lower(record);
}

void Restoration::let_go_of_partial() {
  if (state_.partial.empty()) return;
  restorer_.let_go(state_.partial);
  state_.partial.clear();
  state_.partial_tickets.clear();
}

void Restoration::finish() {
  let_go_of_partial();
  state_.under_way = false;
  if (!state_.on_request) close(RestorationState::Origin::restored);
  context_.note(state_.keys);
  context_.effects().restored(context_.at(), summary());
}

Restored Restoration::summary() const {
  return {.session = state_.session,
          .position = state_.position,
          .log = state_.log,
          .on_request = state_.on_request,
          .keys = state_.keys,
          .jobs = state_.jobs,
          .left_out = state_.left_out};
}

void save_restoration(const RestorationState& state, v1::RestorationState& into) {
  into.set_origin(static_cast<std::uint32_t>(state.origin));
  into.set_under_way(state.under_way);
  into.set_on_request(state.on_request);
  into.set_session(state.session);
  into.set_position(state.position);
  into.set_log(state.log);
  into.set_request(state.request);
  into.set_parts(state.parts);
  into.set_any_key(state.any_key);
  into.set_key(state.key);
  into.set_partial(state.partial);
  into.set_keys(state.keys);
  into.set_jobs(state.jobs);
  into.set_left_out(state.left_out);
  into.set_joined(state.joined);
  for (const std::uint64_t ticket : state.tickets) into.add_tickets(ticket);
  for (const std::uint64_t ticket : state.partial_tickets) into.add_partial_tickets(ticket);
}

bool load_restoration(const v1::RestorationState& from, RestorationState& into) {
  into.under_way = from.under_way();
  into.on_request = from.on_request();
  into.session = from.session();
  into.position = from.position();
  into.log = from.log();
  into.request = from.request();
  into.parts = from.parts();
  into.any_key = from.any_key();
  into.key = from.key();
  into.partial = from.partial();
  into.keys = from.keys();
  into.jobs = from.jobs();
  into.left_out = from.left_out();
  into.joined = from.joined();
  into.tickets.insert(from.tickets().begin(), from.tickets().end());
  into.partial_tickets.insert(from.partial_tickets().begin(), from.partial_tickets().end());
  return load_enum(from.origin(), RestorationState::Origin::restored, into.origin) &&
         std::max({into.parts, into.keys, into.jobs, into.left_out}) < kCountMax;
}

}  // namespace tenure
