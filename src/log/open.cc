#include "log/open.h"

#include <algorithm>
#include <array>

#include "base/mask_login.h"
#include "log/memory/memory_log.h"
#ifdef TENURE_WITH_REDIS
#include "log/redis/redis_log.h"
#endif
#ifdef TENURE_WITH_SQLITE
#include "log/sqlite/settings.h"
#include "log/sqlite/sqlite_log.h"
#endif

namespace tenure {

namespace {

// The schemes that src/log/redis knows; here too, so that a build without it can say what it lacks.
constexpr std::array<std::string_view, 6> kRedisSchemes = {"redis",           "rediss",     "redis+sentinel",
                                                           "rediss+sentinel", "redis+unix", "unix"};

// Who names one shard of several must know how many there are.
Status check(const Shard& shard) {
  if (shard.count > kShardsMax) {
    return fail(Errc::invalid, "open log", "a pool has at most " + std::to_string(kShardsMax) + " shards");
  }
  if (shard.index != 0 && shard.index >= shard.count) return fail(Errc::invalid, "open log", "there is no such shard");
  return {};
}

// Whatever may be a password stays out of it. A password may have a question mark, so the options go last.
Failure no_engine(std::string_view url) {
  std::string context = mask_logins(url);
  context.resize(std::min(context.find('?'), context.size()));
  context += " names no engine: write memory:NAME, sqlite:PATH or redis://HOST:PORT";
  return fail(Errc::invalid, "open log", std::move(context));
}

}  // namespace

Result<std::unique_ptr<Log>> open_log(std::string_view url, const LogOptions& options) {
  const std::size_t colon = url.find(':');
  if (colon == std::string_view::npos) return no_engine(url);
  const std::string_view scheme = url.substr(0, colon);
  const std::string_view location = url.substr(colon + 1);
  if (options.pool.empty()) return fail(Errc::invalid, "open log", "the pool's name is empty");
  if (Status sound = check(options.shard); !sound) return Failure(sound.error());
  if (scheme == "memory") return open_memory_log(location, options);
  if (scheme == "sqlite") {
#ifdef TENURE_WITH_SQLITE
    return open_sqlite_log(location, options);
#else
    return fail(Errc::refused, "open log", "this build has no embedded engine: build with -DTENURE_SQLITE=ON");
#endif
  }
  if (std::find(kRedisSchemes.begin(), kRedisSchemes.end(), scheme) != kRedisSchemes.end()) {
#ifdef TENURE_WITH_REDIS
    return open_redis_log(url, options);
#else
    return fail(Errc::refused, "open log", "this build has no engine for Redis: build with -DTENURE_REDIS=ON");
#endif
  }
  return no_engine(url);
}

std::string other_count(std::uint32_t found, std::uint32_t wanted) {
  return "the pool has shards=" + std::to_string(found) + ", not " + std::to_string(wanted) +
         "; the number stays until the pool is shut down";
}

std::optional<std::string> log_file([[maybe_unused]] std::string_view url, [[maybe_unused]] std::uint32_t shard) {
#ifdef TENURE_WITH_SQLITE
  constexpr std::string_view kScheme = "sqlite:";
  if (url.starts_with(kScheme)) {
    if (auto settings = sqlite::parse_settings(url.substr(kScheme.size()), shard)) return settings->path;
  }
#endif
  return std::nullopt;
}

}  // namespace tenure
