#include "machine/sessions/sessions.h"

#include <algorithm>
#include <vector>

#include "machine/context.h"
#include "machine/limits.h"
#include "machine/load.h"
#include "tenure/v1/sessions.pb.h"

namespace tenure {

bool Sessions::on(const v1::Join& record, bool gone, std::uint32_t version) {
  const bool sound = record.session() != 0 && record.node().size() <= kIdBytesMax &&
                     record.host().size() <= kIdBytesMax && record.lease_ms() >= kLeaseMsMin &&
                     record.lease_ms() <= kLeaseMsMax && record.epoch_floor() <= kEpochFloorMax &&
                     is_time(record.remembers_ms()) && record.former_size() <= kFormerMax;
  if (!sound || gone || record.speaks() < version || table_.find(record.session()) != nullptr ||
      table_.all.size() >= kSessionsMax) {
    context_.refuse_record();
    return false;
  }
  // Epochs that this node saw in a lost history must not be given again.
  context_.raise_epoch(record.epoch_floor());

  Session& session = table_.all[record.session()];
  session.id = record.session();
  session.node = record.node();
  session.host = record.host();
  session.pid = record.pid();
  session.lease_ms = record.lease_ms();
  session.speaks = record.speaks();
  session.age = ++table_.ages;
  session.last_beat = context_.position();
  session.joined_ms = context_.log_time_ms();
  session.chooses = record.chooses();
  table_.chooser = table_.find_chooser();
  session.remembers = record.remembers();
  session.remembers_ms = record.remembers_ms();
  session.restores = record.restores();
  session.fragment = record.fragment();
  session.former.assign(record.former().begin(), record.former().end());
  session.newcomer = record.remembers() == 0 && (record.log() == 0 || record.log() == context_.origin());
  context_.note(session.id);
  context_.effects().joined(context_.at(), session.id);
  return true;
}

void Sessions::on(const v1::Beat& record) {
  Session* session = table_.find(record.session());
  if (session == nullptr) return context_.refuse_record();
  session->last_beat = context_.position();
  session->beat_number = std::max(session->beat_number, record.number());
  session->speaks = std::max(session->speaks, record.speaks());
  context_.effects().beat_seen(context_.at(), {.session = session->id,
                                               .number = record.number(),
                                               .digest_position = record.digest_position(),
                                               .digest = record.digest(),
                                               .read = record.read()});
}

// A claim that is too early, too late or repeated finds a newer beat, or no session, and has no effect.
std::optional<EndedSession> Sessions::on(const v1::Expire& record) {
  const Session* session = table_.find(record.session());
  if (session == nullptr || session->last_beat != record.last_beat()) {
    context_.refuse_record();
    return std::nullopt;
  }
  return EndedSession{session->id, SessionEnd::expired};
}

std::optional<EndedSession> Sessions::on(const v1::End& record) {
  if (table_.find(record.session()) == nullptr) {
    context_.refuse_record();
    return std::nullopt;
  }
  switch (record.reason()) {
    case v1::End::FENCED: return EndedSession{record.session(), SessionEnd::fenced};
    case v1::End::CRASHED: return EndedSession{record.session(), SessionEnd::crashed, &record};
    default: return EndedSession{record.session(), SessionEnd::left};
  }
}

void Sessions::end(const EndedSession& ended) {
  table_.all.erase(ended.id);
  if (table_.chooser == ended.id) table_.chooser = table_.find_chooser();
  context_.effects().session_ended(context_.at(), ended.id, ended.how);
}

bool Sessions::all_speak(std::uint32_t version) const {
  return std::all_of(table_.all.begin(), table_.all.end(),
                     [&](const auto& entry) { return entry.second.speaks >= version; });
}

void save_sessions(const SessionTable& table, v1::SessionsState& into) {
  for (const auto& [id, session] : table.all) {
    v1::SessionState& state = *into.add_sessions();
    state.set_id(id);
    state.set_node(session.node);
    state.set_host(session.host);
    state.set_pid(session.pid);
    state.set_lease_ms(session.lease_ms);
    state.set_speaks(session.speaks);
    state.set_age(session.age);
    state.set_last_beat(session.last_beat);
    state.set_beat_number(session.beat_number);
    state.set_joined_ms(session.joined_ms);
    state.set_chooses(session.chooses);
    state.set_remembers(session.remembers);
    state.set_remembers_ms(session.remembers_ms);
    state.set_restores(session.restores);
    state.set_fragment(session.fragment);
    for (const std::uint64_t former : session.former) state.add_former(former);
    state.set_newcomer(session.newcomer);
  }
  into.set_ages(table.ages);
}

bool load_sessions(const v1::SessionsState& from, SessionTable& into) {
  for (const v1::SessionState& state : from.sessions()) {
    Session session{.id = state.id(),
                    .node = state.node(),
                    .host = state.host(),
                    .pid = state.pid(),
                    .lease_ms = state.lease_ms(),
                    .speaks = state.speaks(),
                    .age = state.age(),
                    .last_beat = state.last_beat(),
                    .beat_number = state.beat_number(),
                    .joined_ms = state.joined_ms(),
                    .chooses = state.chooses(),
                    .remembers = state.remembers(),
                    .remembers_ms = state.remembers_ms(),
                    .restores = state.restores(),
                    .fragment = state.fragment(),
                    .former = {state.former().begin(), state.former().end()},
                    .newcomer = state.newcomer()};
    if (!into.all.emplace(state.id(), std::move(session)).second) return false;
  }
  into.ages = from.ages();
  into.chooser = into.find_chooser();
  return true;
}

bool sessions_are_sound(const SessionTable& table, std::uint64_t position) {
  if (table.all.size() > kSessionsMax || table.ages >= kCountMax) return false;
  std::vector<std::uint64_t> ages;
  for (const auto& [id, session] : table.all) {
    if (id == 0 || session.last_beat > position || session.age > table.ages || !is_time(session.remembers_ms)) {
      return false;
    }
    ages.push_back(session.age);
  }
  std::sort(ages.begin(), ages.end());
  return std::adjacent_find(ages.begin(), ages.end()) == ages.end();
}

}  // namespace tenure
