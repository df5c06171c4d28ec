#include "log/redis/core.h"

#include <algorithm>
#include <array>

#include "log/redis/command.h"
#include "log/redis/entry_id.h"
#include "log/redis/reply.h"
#include "log/redis/scripts.h"
#include "log/redis/stream_entry.h"

namespace tenure::redis {
namespace {

// How often to look up a snapshot that cannot be read completely. The pauses grow, 14 seconds in all, which is longer
// than the time between beats with a lease of a minute.
constexpr int kLoadTriesMax = 16;
constexpr Nanos kLoadPause = std::chrono::milliseconds(120);
// How long it is known that a pool was removed. Longer than members that were cut off trust what they find (Healer).
constexpr std::string_view kRemovedKeptMs = "3600000";

std::vector<const Script*> all_scripts() {
  const Scripts& scripts = Scripts::get();
  return {&scripts.create, &scripts.create_stream, &scripts.renew, &scripts.look,
          &scripts.probe,  &scripts.commit,        &scripts.trim,  &scripts.remove};
}

// A load has no effect that could be in doubt. And it starts over with the log as it is: if the connection broke while
// proving a history that is gone, the next one has nothing to prove.
Error not_loaded(Error error) {
  if (error.code == Errc::unknown || error.code == Errc::lost_history) error.code = Errc::unavailable;
  return error;
}

}  // namespace

Core::Core(const World& world, const RedisSettings& settings, const LogOptions& options, const CallAfter& call_after)
    : world_(world),
      settings_(settings),
      call_after_(call_after),
      options_(options),
      keys_(options.pool, options.shard.index),
      data_connection_(
          world, settings, [this] { return greet(all_scripts()); }, [this](const Error& error) { lose(error); }),
      beat_connection_(
          world, settings, [this] { return greet({&Scripts::get().probe, &Scripts::get().beat, &Scripts::get().end}); },
          [this](const Error& error) { lose(error); }),
      tail_connection_(
          world, settings, [this] { return greet({&Scripts::get().probe, &Scripts::get().mark}); },
          [this](const Error& error) { lose(error); }),
      data_(world, settings, data_connection_, history_, call_after, [this](const Error& error) { lose(error); }),
      beats_(
          world, settings, beat_connection_, history_, call_after, [this](const Error& error) { lose(error); },
          BeatProof{keys_, options_, [this](Position stored) { tell_snapshot(stored); }}),
      tail_(world, settings, keys_, tail_connection_, history_, options.read_only ? 0 : settings.wait_replicas,
            [this](const Error& error) { lose(error); }),
      load_retry_(world.loop) {}

// A lost history needs no proof, because the next step loads the snapshot of the current log.
Greeting Core::greet(const std::vector<const Script*>& scripts) const {
  if (history_.id == 0 || history_.lost) return {settings_, scripts, command({"EXISTS", keys_.meta})};
  const std::string id = to_hex(history_.id);
  const std::string seen = id_of(history_.seen);
  const std::string link = link_bytes(history_.link);
  const std::array<std::string_view, 3> keys = {history_.stream, keys_.meta, keys_.head};
  const std::array<std::string_view, 3> arguments = {id, seen, link};
  return {settings_, scripts, call(Scripts::get().probe, keys, arguments)};
}

void Core::open(Done done) {
  find(options_.create, [this, done = std::move(done)](const Result<Overview>& overview) {
    if (!overview) return done(Failure(overview.error()));
    enter(*overview);
    options_.shard.count = overview->shards;
    done(Status());
  });
}

void Core::find(bool create, FindLog::Done done) {
  LogOptions wanted = options_;
  wanted.create = create;
  std::make_shared<FindLog>(world_, settings_, wanted, keys_, data_connection_, std::move(done))->run();
}

void Core::enter(const Overview& overview) {
  history_ = {
      .id = overview.id, .stream = keys_.log(overview.id), .seen = overview.last, .link = overview.link, .lost = false};
}

void Core::append(Lane lane, Bytes data, Log::AppendDone done) {
  (lane == Lane::beat ? beats_ : data_).offer(std::move(data), std::move(done));
}

void Core::try_load(IfGone if_gone, SnapshotDone done, int tries) {
  find(if_gone == IfGone::create, [this, if_gone, tries, done = std::move(done)](const Result<Overview>& overview) {
    if (!overview) return done(Failure(not_loaded(overview.error())));
    // Waiting requests of the old log are answered before the handle continues in the new one.
    if (overview->id != history_.id && !history_.lost) {
      lose({Errc::lost_history, "redis log", settings_.shown + ": the log was removed and created again"});
    }
    const auto take = [this, if_gone, tries, done, found = *overview](Result<std::optional<Snapshot>> snapshot) {
      if (!snapshot) return done(Failure(not_loaded(snapshot.error())));
      if (!*snapshot) return load_again(if_gone, done, tries + 1);
      loaded(found);
      if (!(*snapshot)->chunks.empty()) return done(**std::move(snapshot));
      ask_removed(**std::move(snapshot), done);
    };
    std::make_shared<LoadChunks>(keys_, data_connection_, *overview, take)->run();
  });
}

// A new log may stand where a pool was removed.
void Core::ask_removed(Snapshot snapshot, const SnapshotDone& done) {
  data_connection_.send("load snapshot", command({"HGET", keys_.removed, "ms"}),
                        [done, snapshot = std::move(snapshot)](const Result<Reply>& reply) mutable {
                          if (!reply) return done(Failure(not_loaded(reply.error())));
                          const Value at = reply->value();
                          snapshot.removed_ms = at.is_nil() ? 0 : static_cast<std::int64_t>(at.number());
                          done(std::move(snapshot));
                        });
}

// The snapshot was replaced while it was read, or a part of it was deleted or evicted. In that case a member writes a
// new one after its next beat.
void Core::load_again(IfGone if_gone, SnapshotDone done, int tries) {
  if (tries < kLoadTriesMax) {
    load_retry_.arm(world_.loop.now() + kLoadPause * tries,
                    [this, if_gone, done = std::move(done), tries] { try_load(if_gone, done, tries); });
    return;
  }
  done(fail(Errc::corrupt, "redis load snapshot",
            settings_.shown +
                ": the snapshot's chunks were deleted or evicted, and no living member has written it again; "
                "try again while a worker runs, restore a backup, or delete the pool's keys"));
}

// The data connection has just shown which log is current. The other connections may lead to a former master.
void Core::loaded(const Overview& overview) {
  if (!history_.lost) return;
  enter(overview);
  const Error anew{Errc::unavailable, "redis log", "the handle starts over"};
  beat_connection_.drop(anew);
  tail_connection_.drop(anew);
}

// On the connection of the beats, because appends of megabytes may be in front of it on the other one.
void Core::find_end(Log::EndDone done) {
  if (const Status known = check_history(); !known) return done(Failure(known.error()));
  const std::array<std::string_view, 1> keys = {history_.stream};
  beat_connection_.send("find end", call(Scripts::get().end, keys, {}),
                        [this, done = std::move(done)](const Result<Reply>& reply) {
                          if (!reply) return done(Failure(not_loaded(reply.error())));
                          if (reply->value().is_nil()) {
                            return done(fail(Errc::lost_history, "redis log", settings_.shown + ": the log is gone"));
                          }
                          const std::optional<Position> end = parse_id(reply->value().text());
                          if (!end) return done(fail(Errc::corrupt, "redis log", settings_.shown + ": not an id"));
                          done(*end);
                        });
}

void Core::store_snapshot(std::uint64_t log, Snapshot snapshot, Done done) {
  if (const Status known = check_history(); !known) return done(known);
  std::string tag = to_hex(world_.entropy.id());
  std::make_shared<StoreSnapshot>(keys_, data_connection_, log, std::move(tag), std::move(snapshot), std::move(done))
      ->run();
}

void Core::trim(Position before, Done done) {
  if (const Status known = check_history(); !known) return done(known);
  const std::string id = to_hex(history_.id);
  const std::string position = id_of(before);
  const std::array<std::string_view, 3> keys = {history_.stream, keys_.meta, keys_.head};
  const std::array<std::string_view, 2> arguments = {id, position};
  data_connection_.send("trim", call(Scripts::get().trim, keys, arguments),
                        [this, before, done = std::move(done)](const Result<Reply>& reply) {
                          if (!reply) return done(Failure(reply.error()));
                          if (reply->value().integer() != 0) return done(Status());
                          trim(before, done);
                        });
}

void Core::remove(Done done) {
  if (const Status known = check_history(); !known) return done(known);
  const std::string id = to_hex(history_.id);
  const std::string at = std::to_string(std::max<std::int64_t>(time_of(history_.seen), 1));
  const std::array<std::string_view, 4> keys = {history_.stream, keys_.meta, keys_.head, keys_.removed};
  const std::array<std::string_view, 3> arguments = {id, at, kRemovedKeptMs};
  data_connection_.send("remove", call(Scripts::get().remove, keys, arguments),
                        [this, done = std::move(done)](const Result<Reply>& reply) {
                          if (!reply) return done(Failure(reply.error()));
                          lose({Errc::lost_history, "redis log", settings_.shown + ": the pool was removed"});
                          done(Status());
                        });
}

void Core::lose(const Error& error) {
  if (history_.id == 0) return;
  history_.lost = true;
  data_.lose(error);
  beats_.lose(error);
  // Requests that wait for a connection would get into a log whose proof is no longer made.
  for (Connection* const connection : {&data_connection_, &beat_connection_})
    connection->revoke(kAppendOperation, error);
  tail_.lose(error);
}

void Core::tell_snapshot(Position stored) const {
  if (snapshot_seen_) call_after_([seen = snapshot_seen_, stored] { seen(stored); });
}

Status Core::check_history() const {
  if (!history_.lost) return {};
  return fail(Errc::lost_history, "redis log", "history was lost, and this handle has not loaded a snapshot since");
}

}  // namespace tenure::redis
