#include "log/redis/find_log.h"

#include <algorithm>
#include <array>

#include "base/shard.h"
#include "log/redis/command.h"
#include "log/redis/entry_id.h"
#include "log/redis/scripts.h"
#include "log/redis/stream_entry.h"

namespace tenure::redis {
namespace {

// How often to start over because another process was faster to create or remove the log.
constexpr int kTriesMax = 8;
// Time for two beats of the default lease, and for a snapshot.
constexpr int kTornMax = 20;
constexpr Nanos kTornPause = std::chrono::milliseconds(250);

}  // namespace

FindLog::FindLog(const World& world, const RedisSettings& settings, const LogOptions& options, const Keys& keys,
                 Connection& connection, Done done)
    : world_(world),
      settings_(settings),
      options_(options),
      keys_(keys),
      connection_(connection),
      done_(std::move(done)) {}

void FindLog::run() {
  if (++tries_ > kTriesMax)
    return refuse(Errc::unavailable, "the log is created and removed faster than it can be opened");
  ask(command({"HMGET", keys_.meta, "format", "pool", "id", "born", "shards", "shard"}),
      [this](Value meta) { take_meta(meta); });
}

void FindLog::take_meta(Value meta) {
  if (meta[0].is_nil()) {
    if (!options_.create) return refuse(Errc::no_such_pool, "there is no pool '" + options_.pool + "'");
    if (!options_.read_only) return create();
    return refuse(Errc::refused, "there is no log, and a read-only opener does not create it");
  }
  if (const Status good = check(meta); !good) return done_(Failure(good.error()));
  overview_ = {};
  overview_.id = parse_word(meta[2].text());
  overview_.shards = meta[4].is_nil() ? 1 : static_cast<std::uint32_t>(meta[4].number());
  if (overview_.id == 0 || overview_.shards == 0 || overview_.shards > kShardsMax) {
    return refuse(Errc::corrupt, "the pool's keys are damaged: restore a backup, or delete them");
  }
  if (meta[3].text() == meta[2].text()) return look();
  if (!options_.read_only) return create_stream();
  refuse(Errc::unavailable, "the log is being created");
}

Status FindLog::check(Value meta) const {
  const auto wrong = [&](Errc code, const std::string& what) {
    return fail(code, "redis open", settings_.shown + ": " + what);
  };
  if (meta[0].text() != kFormat) {
    return wrong(Errc::version, "the log has format " + std::string(meta[0].text()) + ", this program uses " +
                                    std::string(kFormat) + "; use the program that created it");
  }
  if (meta[1].text() != options_.pool) {
    return wrong(Errc::refused, "the log belongs to pool '" + std::string(meta[1].text()) +
                                    "'; keys were renamed or copied: open it under its own name");
  }
  const std::uint64_t shard = meta[5].is_nil() ? 0 : meta[5].number();
  if (shard != options_.shard.index) {
    return wrong(Errc::refused, "this is the log of shard " + std::to_string(shard) +
                                    "; keys were renamed or copied: open it under its own name");
  }
  const std::uint64_t shards = meta[4].is_nil() ? 1 : meta[4].number();
  if (options_.shard.count != 0 && shards != options_.shard.count) {
    return wrong(Errc::refused, "the pool has shards=" + std::to_string(shards) + ", not " +
                                    std::to_string(options_.shard.count) +
                                    "; the number cannot change before the pool is shut down");
  }
  return {};
}

void FindLog::create() {
  const std::string id = to_hex(world_.entropy.id());
  const std::string shard = std::to_string(options_.shard.index);
  const std::string shards = std::to_string(std::max<std::uint32_t>(options_.shard.count, 1));
  const std::array<std::string_view, 2> keys = {keys_.meta, keys_.head};
  const std::array<std::string_view, 4> arguments = {options_.pool, id, shard, shards};
  ask(call(Scripts::get().create, keys, arguments), [this](Value) { run(); });
}

void FindLog::create_stream() {
  const std::string log = keys_.log(overview_.id);
  const std::string id = to_hex(overview_.id);
  const std::array<std::string_view, 3> keys = {log, keys_.meta, keys_.head};
  const std::array<std::string_view, 1> arguments = {id};
  ask(call(Scripts::get().create_stream, keys, arguments),
      [this](Value born) { born.integer() == 0 ? create_stream() : look(); });
}

void FindLog::look() {
  const std::string log = keys_.log(overview_.id);
  const std::string id = to_hex(overview_.id);
  const std::array<std::string_view, 3> keys = {log, keys_.meta, keys_.head};
  const std::array<std::string_view, 1> arguments = {id};
  ask(call(Scripts::get().look, keys, arguments), [this](Value found) { take_look(found); });
}

void FindLog::take_look(Value found) {
  if (found.text() == "gone") {
    if (!options_.read_only) return renew();
    return refuse(Errc::refused, "the log's stream is gone, and a read-only opener does not create it");
  }
  if (found.text() == "torn") return wait_for_mending();
  const std::optional<Position> last = parse_id(found[0].text());
  overview_.link = parse_link(found[1].text());
  const std::optional<Position> snapshot = found[2].is_nil() ? Position{0} : parse_id(found[2].text());
  if (!last || !snapshot || (*last != 0 && overview_.link == 0)) {
    return refuse(Errc::corrupt, "the pool's keys are damaged: restore a backup, or delete them");
  }
  overview_.last = *last;
  if (*snapshot != 0) {
    overview_.snapshot = {*snapshot, parse_word(found[3].text())};
    overview_.chunks = found[4].number();
    overview_.tag = found[5].text();
  }
  done_(overview_);
}

void FindLog::wait_for_mending() {
  if (++torn_ > kTornMax) {
    return refuse(Errc::corrupt,
                  "entries are missing that no snapshot covers: another program trimmed them, or the snapshot was "
                  "deleted or evicted; run a worker that knows the pool, restore a backup, or delete the pool's keys");
  }
  world_.loop.at(world_.loop.now() + kTornPause, [self = shared_from_this()] {
    self->tries_ = 0;
    self->run();
  });
}

void FindLog::renew() {
  const std::string log = keys_.log(overview_.id);
  const std::string id = to_hex(overview_.id);
  const std::string new_id = to_hex(world_.entropy.id());
  const std::array<std::string_view, 3> keys = {log, keys_.meta, keys_.head};
  const std::array<std::string_view, 2> arguments = {id, new_id};
  ask(call(Scripts::get().renew, keys, arguments), [this](Value) { run(); });
}

// The log may be removed between two requests. Then start over.
void FindLog::ask(Bytes command, std::function<void(Value)> take) {
  connection_.send("open", std::move(command),
                   [self = shared_from_this(), take = std::move(take)](const Result<Reply>& reply) {
                     if (reply) return take(reply->value());
                     if (reply.error().code == Errc::lost_history) return self->run();
                     self->done_(Failure(reply.error()));
                   });
}

void FindLog::refuse(Errc code, const std::string& what) {
  done_(fail(code, "redis open", settings_.shown + ": " + what));
}

}  // namespace tenure::redis
