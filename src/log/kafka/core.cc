#include "log/kafka/core.h"

#include <chrono>
#include <thread>

#include "base/entropy.h"

namespace tenure::kafka {
namespace {

constexpr int kLoadTriesMax = 10;
constexpr std::chrono::milliseconds kLoadPause{50};
constexpr std::chrono::milliseconds kGonePause{20};
// How often beats look at the stored snapshot.
constexpr std::chrono::seconds kLookEvery{2};

// A read has no effect that could be in doubt, and a log that is gone is created again.
Error not_loaded(Error error) {
  if (error.code == Errc::unknown || error.code == Errc::lost_history) error.code = Errc::unavailable;
  return error;
}

}  // namespace

Core::Core(KafkaSettings settings, LogOptions options)
    : settings_(std::move(settings)),
      options_(std::move(options)),
      names_(settings_.prefix, options_.pool, options_.shard.index) {}

Result<std::unique_ptr<Prober>> Core::make_prober() const {
  auto client = Client::make(settings_, Role::prober, options_.warn);
  if (!client) return Failure(client.error());
  return std::make_unique<Prober>(settings_, *std::move(client));
}

Result<FoundLog> Core::find(Prober& prober, bool create) const {
  LogOptions wanted = options_;
  wanted.create = create;
  return FindLog(settings_, wanted, names_, prober).run();
}

Status Core::open() {
  auto prober = make_prober();
  if (!prober) return Failure(prober.error());
  const Result<FoundLog> found = find(**prober, options_.create);
  if (!found) return Failure(found.error());
  options_.shard.count = found->shards;
  session_ = std::make_shared<Session>(settings_, names_, *found, *std::move(prober), options_.warn);
  settings_.refusals->note_opened();
  return {};
}

std::shared_ptr<Session> Core::session() const {
  const std::lock_guard lock(mutex_);
  return session_;
}

void Core::close() {
  std::shared_ptr<Session> last;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    last = session_;
  }
  if (last) last->prober().close();
  answers_.close();
  chores_.close();
  if (last = session(); last) last->close();
}

void Core::find_end(Log::EndDone done) {
  answers_.post(Lane::data, [this, done = std::move(done)] {
    Result<Position> found = end();
    if (!answers_.closed()) done(std::move(found));
  });
}

void Core::watch_snapshot(Log::SnapshotSeen seen) {
  const std::lock_guard lock(mutex_);
  snapshot_seen_ = std::move(seen);
}

void Core::beat_sent() {
  Log::SnapshotSeen seen;
  {
    const std::lock_guard lock(mutex_);
    const Instant now = BootClock().now();
    if (!snapshot_seen_ || now - looked_at_ < kLookEvery) return;
    looked_at_ = now;
    seen = snapshot_seen_;
  }
  chores_.post(Lane::data, [this, seen = std::move(seen)] {
    const auto session = this->session();
    if (session->history().lost()) return;
    const auto newest = snapshots_of(*session).newest(session->history().log());
    if (newest && !chores_.closed()) seen(*newest ? (*newest)->cursor.position : 0);
  });
}

// Kafka's end is that of the last record. A log of which only the birth is there has no entry.
Result<Position> Core::end() {
  const auto session = this->session();
  if (session->history().lost()) return session->history().loss();
  const auto end = session->prober().end(names_.log, 0);
  if (!end) {
    if (end.error().code == Errc::lost_history) session->history().lose(end.error());
    return Failure(end.error());
  }
  const auto position = static_cast<Position>(*end);
  return position <= session->birth() ? 0 : position;
}

Result<Snapshot> Core::load_snapshot(IfGone if_gone) {
  for (int i = 0;; ++i) {
    auto loaded = try_load(if_gone);
    if (loaded) return loaded;
    const bool again = loaded.error().code == Errc::lost_history || loaded.error().code == Errc::trimmed;
    if (!again || i >= kLoadTriesMax) return Failure(not_loaded(loaded.error()));
    std::this_thread::sleep_for(kLoadPause);
  }
}

Result<Snapshot> Core::try_load(IfGone if_gone) {
  auto session = this->session();
  const Result<FoundLog> found = find(session->prober(), if_gone == IfGone::create);
  if (!found) return Failure(found.error());
  if (session->history().lost() || found->id != session->history().log()) {
    if (Status moved = continue_in(*found); !moved) return Failure(moved.error());
    session = this->session();
  }
  const auto newest = snapshots_of(*session).newest(found->id);
  if (!newest) return Failure(newest.error());
  if (!*newest) {
    if (found->birth.offset >= 0) return Snapshot();
    return fail(Errc::corrupt, "kafka load snapshot",
                settings_.shown + ": the log's beginning was trimmed, and no snapshot is complete; try again while a " +
                    "worker runs, restore a backup, or delete the topics " + names_.log + " and " + names_.snapshots);
  }
  auto snapshot = snapshots_of(*session).load(**newest);
  if (!snapshot) return Failure(snapshot.error());
  if (!*snapshot) return fail(Errc::trimmed, "kafka load snapshot", settings_.shown + ": it was replaced meanwhile");
  session->tail().know({(*newest)->cursor.position, (*newest)->time_ms});
  return **std::move(snapshot);
}

// Waiting requests of the old log are answered before the handle continues in the new one.
Status Core::continue_in(const FoundLog& found) {
  auto prober = make_prober();
  if (!prober) return Failure(prober.error());
  auto next = std::make_shared<Session>(settings_, names_, found, *std::move(prober), options_.warn);
  const auto old = session();
  old->history().lose({Errc::lost_history, "kafka log", settings_.shown + ": the log was removed and created again"});
  old->end();
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return fail(Errc::closed, "kafka log");
    session_ = std::move(next);
  }
  old->close();
  return {};
}

// The time that the entry has for everyone: with it the cursor has its hash.
Result<std::int64_t> Core::time_of(Session& session, Cursor cursor) {
  const auto entry = session.prober().entry_at(names_.log, offset_of(cursor.position));
  if (!entry) return Failure(entry.error());
  if (!*entry) return fail(Errc::trimmed, "kafka snapshot", settings_.shown + ": the snapshot's entry is gone");
  for (const std::int64_t time_ms : {(*entry)->time_ms, session.tail().time_at(cursor)}) {
    if (cursor.hash != 0 && cursor.matches((*entry)->value, time_ms)) return time_ms;
  }
  return fail(Errc::unavailable, "kafka snapshot", settings_.shown + ": the snapshot's entry is too old");
}

Status Core::store_snapshot(std::uint64_t log, Snapshot snapshot) {
  const auto session = this->session();
  if (session->history().lost()) return session->history().loss();
  if (log != session->history().log()) {
    return fail(Errc::lost_history, "kafka snapshot", settings_.shown + ": the snapshot is of a log that is gone");
  }
  if (Status held = session->history().prove(); !held) return held;
  const auto before = snapshots_of(*session).stored(log);
  if (!before) return Failure(before.error());
  if (!before->empty() && before->back().cursor.position > snapshot.cursor.position) return {};
  const auto time_ms = time_of(*session, snapshot.cursor);
  if (!time_ms) return Failure(time_ms.error());
  Manifest manifest;
  manifest.log = log;
  manifest.tag = SystemEntropy().id();
  manifest.shard = options_.shard.index;
  manifest.shards = options_.shard.count;
  manifest.cursor = snapshot.cursor;
  manifest.time_ms = *time_ms;
  manifest.pool = options_.pool;
  return snapshots_of(*session).store(std::move(manifest), snapshot.chunks);
}

// What is dropped ends before the first record of an entry.
Status Core::trim(Position before) {
  const auto session = this->session();
  if (session->history().lost()) return session->history().loss();
  if (Status held = session->history().prove(); !held) return held;
  const auto newest = snapshots_of(*session).newest(session->history().log());
  if (!newest) return Failure(newest.error());
  if (!*newest) return {};
  const Position limit = std::min(before, (*newest)->cursor.position);
  if (limit == 0) return {};
  const auto range = session->prober().range(names_.log, 0);
  if (!range) return Failure(range.error());
  std::int64_t offset = std::min(offset_of(limit), range->end);
  const auto kept = session->prober().record_at(names_.log, 0, offset);
  if (!kept) return Failure(kept.error());
  if (*kept && (*kept)->key && (*kept)->key->kind == Kind::last) offset = (*kept)->key->first;
  offset = session->tail().whole_before(offset);
  if (offset <= range->first) return {};
  return Topics(settings_, session->prober().client()).drop_before(names_.log, 0, offset);
}

// Kafka deletes by name. Between the proof and the deletion somebody else may delete the log and create the next one;
// that takes two of them in the same few milliseconds.
Status Core::remove() {
  const auto session = this->session();
  if (session->history().lost()) return session->history().loss();
  if (Status held = session->history().prove(); !held) return held;
  if (Status removed = Topics(settings_, session->prober().client()).remove(names_); !removed) return removed;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(settings_.timeout_ms);
  for (;;) {
    const Result<int> log = session->prober().partitions(names_.log);
    const Result<int> snapshots = session->prober().partitions(names_.snapshots);
    if (log && snapshots && *log == 0 && *snapshots == 0) break;
    if (std::chrono::steady_clock::now() > deadline) break;  // deleted, but not all brokers know
    std::this_thread::sleep_for(kGonePause);
  }
  session->history().lose({Errc::lost_history, "kafka log", settings_.shown + ": the pool was removed"});
  return {};
}

}  // namespace tenure::kafka
