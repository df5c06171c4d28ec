#include "faults/testimony.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <type_traits>

#include "machine/own_names.h"
#include "tenure/v1/record.pb.h"

namespace tenure::faults {
namespace {

// An engine's time is in whole milliseconds, and the quickest reader is a little late.
constexpr std::int64_t kEarlyNs = 2'000'000;

}  // namespace

void Testimony::take(Position before, const Entry& entry, std::int64_t engine_ns, Instant now) {
  const auto known = entries_.upper_bound(before);
  if (known != entries_.end() && Cursor::at(known->second) == Cursor::at(entry)) return;
  offset_ns_ = std::min(offset_ns_, now.since_boot.count() - engine_ns);
  time_ns_ = engine_ns;
  lose_after(before);
  entries_[entry.position] = entry;
  apply(entry, engine_ns);
}

void Testimony::lose_after(Position kept) {
  const auto lost = entries_.upper_bound(kept);
  if (lost == entries_.end()) return;
  say("log.lost", kept);
  ++losses_;
  entries_.erase(lost, entries_.end());
  machine_ = std::make_unique<Machine>();
  const std::int64_t now_ns = time_ns_;
  mute_ = true;
  for (const auto& [position, entry] : entries_) apply(entry, now_ns);
  mute_ = false;
  time_ns_ = now_ns;
}

void Testimony::apply(const Entry& entry, std::int64_t engine_ns) {
  position_ = entry.position;
  time_ns_ = engine_ns;
  note_dispatches(entry);
  heard_.clear();
  machine_->apply({entry.position, entry.time_ms, entry.data}, *this);
  if (!mute_) losses_at_[{machine_->origin(), entry.position}] = losses_;
  for (const std::uint64_t session : heard_) {
    if (const Session* found = machine_->sessions().find(session); found != nullptr) {
      lease(session, time_ns_ + found->lease_ms * 1'000'000LL);
    }
  }
}

Cursor Testimony::last() const { return entries_.empty() ? Cursor{} : Cursor::at(entries_.rbegin()->second); }

bool Testimony::knows(const Cursor& cursor) const {
  if (cursor.position == 0) return true;
  const auto found = entries_.find(cursor.position);
  return found != entries_.end() && Cursor::at(found->second) == cursor;
}

void Testimony::write(const std::string& path) const {
  std::ofstream file(path, std::ios::app);
  for (const Line& line : lines_) {
    file << line.what << ' ' << line.at_ns + offset_ns_ - kEarlyNs << ' ' << line.more;
    if (line.until_ns != 0) file << ' ' << line.until_ns + offset_ns_ + kEarlyNs;
    file << '\n';
  }
}

template <class... Words>
void Testimony::say(const char* what, const Words&... words) {
  if (mute_) return;
  std::string more;
  const auto add = [&](const auto& word) {
    if (!more.empty()) more += ' ';
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(word)>>) {
      more += std::to_string(word);
    } else {
      more += word;
    }
  };
  (add(words), ...);
  lines_.push_back({what, time_ns_, std::move(more)});
}

void Testimony::lease(std::uint64_t session, std::int64_t until_ns) {
  if (!mute_) lines_.push_back({"log.leased", time_ns_, std::to_string(session), until_ns});
}

// What was asked under which ticket stands in the records; the machine does not repeat it.
void Testimony::note_dispatches(const Entry& entry) {
  v1::Batch batch;
  if (mute_ || !batch.ParseFromString(entry.data)) return;
  for (const v1::Record& record : batch.records()) {
    if (record.has_emit()) own_.insert(record.emit().ticket());
    if (record.has_forget_source()) own_.insert(record.forget_source().ticket());
    for (const v1::EmittedTask& task : record.emit().tasks()) {
      say("log.emitted", task.task().ticket(), task.task().key(), task.task().payload());
    }
    if (!record.has_dispatch()) continue;
    const v1::Dispatch& dispatch = record.dispatch();
    if (is_own_key(dispatch.key())) {
      own_.insert(dispatch.ticket());
    } else {
      say("log.dispatch", dispatch.ticket(), dispatch.key(), dispatch.payload());
    }
  }
}

void Testimony::granted(const At&, const Grant& grant) {
  if (is_own_key(grant.tenure.key)) return;
  say("log.granted", position_, grant.tenure.session, Bytes(grant.tenure.key), grant.tenure.epoch, grant.ticket,
      grant.first ? 1 : 0);
}

void Testimony::ended(const At&, const TenureRef& tenure, TenureEnd why) {
  if (is_own_key(tenure.key)) return;
  const bool died = why == TenureEnd::crashed || why == TenureEnd::expired;
  say("log.ended", position_, Bytes(tenure.key), tenure.epoch, died ? 1 : 0);
}

void Testimony::settled(const At&, const Settlement& settlement) {
  static constexpr std::array<const char*, 6> kSteps{"accepted", "refused", "started", "done", "failed", "stopped"};
  static_assert(static_cast<int>(TicketState::accepted) == 0 && static_cast<int>(TicketState::stopped) == 5);
  if (own_.contains(settlement.ticket)) return;
  if (settlement.state == TicketState::failed) failed_last_ = settlement.ticket;
  say("log.settled", position_, settlement.ticket, kSteps[static_cast<std::size_t>(settlement.state)],
      static_cast<int>(settlement.code));
}

// By the last entry that the member knew. One that was never seen here is like one in a ghost.
void Testimony::restoring(const At&, const Restored& it) {
  const auto known = losses_at_.find({it.log, it.position});
  const bool seen = known != losses_at_.end();
  say("log.restoring", position_, seen ? known->second : losses_, it.position, seen ? 0 : 1);
}

// The job's ticket was told of its failure just before.
void Testimony::buried(const At&, BytesView /*key*/, std::uint64_t /*dead_id*/, bool quarantined) {
  say("log.buried", position_, failed_last_, quarantined ? 1 : 0);
}

void Testimony::beat_seen(const At&, const SeenBeat& beat) { heard_.push_back(beat.session); }

void Testimony::session_ended(const At&, std::uint64_t session, SessionEnd how) {
  std::erase(heard_, session);
  if (how == SessionEnd::expired) return say("log.expired", position_, session);
  lease(session, time_ns_);
  if (how != SessionEnd::left) say("log.fenced", position_, session);
}

}  // namespace tenure::faults
