#include "log/redis/snapshots.h"

#include <array>

#include "log/redis/command.h"
#include "log/redis/entry_id.h"
#include "log/redis/scripts.h"

namespace tenure::redis {
namespace {

// Chunks that nobody commits expire after this time.
constexpr std::string_view kUncommittedMs = "600000";

}  // namespace

StoreSnapshot::StoreSnapshot(const Keys& keys, Connection& connection, std::uint64_t log, std::string tag,
                             Snapshot snapshot, Done done)
    : keys_(keys),
      connection_(connection),
      log_(log),
      tag_(std::move(tag)),
      list_(keys.chunks(tag_)),
      snapshot_(std::move(snapshot)),
      done_(std::move(done)) {}

// Writes one chunk at a time, so that appends go in between.
void StoreSnapshot::write_next() {
  if (written_ == snapshot_.chunks.size()) return commit();
  const Bytes chunk = std::move(snapshot_.chunks[written_++]);
  connection_.send("store snapshot", command({"RPUSH", list_, chunk}),
                   [self = shared_from_this()](Result<Reply> reply) {
                     if (!reply) return self->done_(Failure(reply.error()));
                     self->connection_.send("store snapshot", command({"PEXPIRE", self->list_, kUncommittedMs}),
                                            [self](const Result<Reply>& kept) {
                                              if (!kept) return self->done_(Failure(kept.error()));
                                              self->write_next();
                                            });
                   });
}

void StoreSnapshot::commit() {
  const std::string log = keys_.log(log_);
  const std::string id = to_hex(log_);
  const std::string position = id_of(snapshot_.cursor.position);
  const std::string hash = to_hex(snapshot_.cursor.hash);
  const std::string count = std::to_string(snapshot_.chunks.size());
  const std::array<std::string_view, 4> keys = {log, keys_.meta, keys_.head, list_};
  const std::array<std::string_view, 5> arguments = {id, position, hash, count, tag_};
  connection_.send("store snapshot", command({"PERSIST", list_}),
                   [](const Result<Reply>&) {});  // an error shows in the next reply, too
  connection_.send("store snapshot", call(Scripts::get().commit, keys, arguments),
                   [self = shared_from_this()](const Result<Reply>& reply) {
                     if (reply) return self->drop(reply->value().text());
                     self->done_(Failure(reply.error()));
                     // In doubt, the list may be the newest snapshot.
                     if (reply.error().code == Errc::unknown) return;
                     self->connection_.send("store snapshot", command({"UNLINK", self->list_}),
                                            [](const Result<Reply>&) {});
                   });
}

// Deletes the chunks of an older snapshot. The new one is stored, even if this fails.
void StoreSnapshot::drop(std::string_view tag) {
  if (tag.empty()) return done_(Status());
  connection_.send("store snapshot", command({"UNLINK", keys_.chunks(tag)}),
                   [self = shared_from_this()](const Result<Reply>&) { self->done_(Status()); });
}

LoadChunks::LoadChunks(const Keys& keys, Connection& connection, Overview overview, Done done)
    : connection_(connection),
      overview_(std::move(overview)),
      list_(keys.chunks(overview_.tag)),
      done_(std::move(done)) {
  snapshot_.cursor = overview_.snapshot;
}

void LoadChunks::read_next() {
  if (snapshot_.chunks.size() == overview_.chunks) return done_(std::optional<Snapshot>(std::move(snapshot_)));
  const std::string index = std::to_string(snapshot_.chunks.size());
  connection_.send("load snapshot", command({"LINDEX", list_, index}),
                   [self = shared_from_this()](Result<Reply> reply) {
                     if (!reply) return self->done_(Failure(reply.error()));
                     if (reply->value().is_nil()) return self->done_(std::optional<Snapshot>());
                     self->snapshot_.chunks.emplace_back(reply->value().text());
                     self->read_next();
                   });
}

}  // namespace tenure::redis
