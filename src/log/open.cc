#include "log/open.h"

#include "log/engines.h"

namespace tenure {

namespace {

// An opener that names a shard must know the number of shards.
Status check(const Shard& shard) {
  if (shard.count > kShardsMax) {
    return fail(Errc::invalid, "open log", "a pool has at most " + std::to_string(kShardsMax) + " shards");
  }
  if (shard.index != 0 && shard.index >= shard.count)
    return fail(Errc::invalid, "open log", "the pool has no such shard");
  return {};
}

}  // namespace

Result<std::unique_ptr<Log>> open_log(std::string_view url, const LogOptions& options) {
  const Result<const Engine*> engine = built_engine_of(url);
  if (!engine) return Failure(engine.error());
  if (options.pool.empty()) return fail(Errc::invalid, "open log", "the pool's name is empty");
  if (Status sound = check(options.shard); !sound) return Failure(sound.error());
  return (*engine)->open(url, options);
}

std::string other_count(std::uint32_t found, std::uint32_t wanted) {
  return "the pool has shards=" + std::to_string(found) + ", not " + std::to_string(wanted) +
         "; the number cannot change before the pool is shut down";
}

std::optional<std::string> log_file(std::string_view url, std::string_view pool, std::uint32_t shard) {
  const Engine* const engine = engine_of(url);
  if (engine == nullptr || engine->file == nullptr) return std::nullopt;
  return engine->file(url, pool, shard);
}

}  // namespace tenure
