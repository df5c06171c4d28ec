#include "log/engines.h"

#include <algorithm>
#include <array>

#include "base/mask_login.h"
#include "log/kafka/schemes.h"
#include "log/memory/memory_log.h"
#include "log/redis/schemes.h"
#ifdef TENURE_WITH_KAFKA
#include "log/kafka/hops.h"
#include "log/kafka/inspection.h"
#include "log/kafka/kafka_log.h"
#endif
#ifdef TENURE_WITH_REDIS
#include "log/redis/hops.h"
#include "log/redis/inspection.h"
#include "log/redis/redis_log.h"
#endif
#ifdef TENURE_WITH_SQLITE
#include "log/sqlite/inspection.h"
#include "log/sqlite/settings.h"
#include "log/sqlite/sqlite_log.h"
#include "log/sqlite/whereabouts.h"
#endif

namespace tenure {
namespace {

constexpr std::string_view location_of(std::string_view url) { return url.substr(url.find(':') + 1); }

constexpr std::array<std::string_view, 1> kMemorySchemes = {"memory"};
constexpr Engine kMemory = {
    .name = "memory",
    .schemes = kMemorySchemes,
    .form = "memory:NAME",
    .reach = Reach::process,
    .open = [](std::string_view url, const LogOptions& options) { return open_memory_log(location_of(url), options); },
    .inspect = [](std::string_view /*url*/, const LogOptions& /*options*/) { return inspect_memory_log(); },
};

constexpr std::array<std::string_view, 1> kSqliteSchemes = {"sqlite"};
constexpr Engine kSqlite = {
    .name = "sqlite",
    .schemes = kSqliteSchemes,
    .form = "sqlite:PATH",
    .option = "TENURE_SQLITE",
    .reach = Reach::host,
#ifdef TENURE_WITH_SQLITE
    .open = [](std::string_view url, const LogOptions& options) { return open_sqlite_log(location_of(url), options); },
    .file = [](std::string_view url, std::string_view pool, std::uint32_t shard) -> std::optional<std::string> {
      const auto settings = sqlite::parse_settings(location_of(url), pool, shard);
      if (!settings) return std::nullopt;
      return sqlite::likely_path(*settings, pool);
    },
    .inspect = [](std::string_view url, const LogOptions& /*options*/) { return sqlite::inspect(location_of(url)); },
#endif
};

constexpr Engine kRedis = {
    .name = "redis",
    .schemes = redis::kSchemeNames,
    .form = "redis://HOST:PORT",
    .option = "TENURE_REDIS",
    .reach = Reach::network,
#ifdef TENURE_WITH_REDIS
    .open = open_redis_log,
    .inspect = redis::inspect,
    .measure_bare_hops = redis::measure_hops,
    .bare_hop = "XADD to XREAD",
#endif
};

constexpr Engine kKafka = {
    .name = "kafka",
    .schemes = kafka::kSchemeNames,
    .form = "kafka://HOST:PORT",
    .option = "TENURE_KAFKA",
    .reach = Reach::network,
    .lease = std::chrono::seconds(30),  // a killed broker may be out of service for 20 s
#ifdef TENURE_WITH_KAFKA
    .open = open_kafka_log,
    .inspect = kafka::inspect,
    .measure_bare_hops = kafka::measure_hops,
    .bare_hop = "producer to consumer",
#endif
    .own_name = "topics=own",
};

constexpr std::array<Engine, 4> kEngines = {kMemory, kSqlite, kRedis, kKafka};

// "memory:NAME, sqlite:PATH or redis://HOST:PORT", as far as this build has the engines.
std::string built_forms() {
  std::vector<std::string_view> forms;
  for (const Engine& engine : kEngines) {
    if (engine.built()) forms.push_back(engine.form);
  }
  std::string text;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (i != 0) text += i + 1 == forms.size() ? " or " : ", ";
    text += forms[i];
  }
  return text;
}

// A URL may contain a password, and a password may contain a question mark. So the options are cut off last.
Failure unknown_engine(std::string_view url) {
  std::string context = mask_logins(url);
  context.resize(std::min(context.find('?'), context.size()));
  context += " names no engine: write " + built_forms();
  return fail(Errc::invalid, "open log", std::move(context));
}

Failure missing_engine(const Engine& engine) {
  std::string context = "this build has no " + std::string(engine.name) + " engine; it has: ";
  std::string_view separator;
  for (const Engine& other : kEngines) {
    if (!other.built()) continue;
    context.append(separator).append(other.schemes.front()).append(":");
    separator = ", ";
  }
  context.append("; to add it, build with -D").append(engine.option).append("=ON");
  return fail(Errc::refused, "open log", std::move(context));
}

}  // namespace

std::span<const Engine> engines() { return kEngines; }

const Engine* engine_of(std::string_view url) {
  const std::size_t colon = url.find(':');
  if (colon == std::string_view::npos) return nullptr;
  const std::string_view scheme = url.substr(0, colon);
  const auto* const found = std::find_if(kEngines.begin(), kEngines.end(), [&](const Engine& engine) {
    return std::find(engine.schemes.begin(), engine.schemes.end(), scheme) != engine.schemes.end();
  });
  return found == kEngines.end() ? nullptr : found;
}

Result<const Engine*> built_engine_of(std::string_view url) {
  const Engine* const engine = engine_of(url);
  if (engine == nullptr) return unknown_engine(url);
  if (!engine->built()) return missing_engine(*engine);
  return engine;
}

Result<const Engine*> file_engine() {
  const auto* const found =
      std::find_if(kEngines.begin(), kEngines.end(), [](const Engine& engine) { return engine.reach == Reach::host; });
  if (!found->built()) return missing_engine(*found);
  return found;
}

std::string file_url(const Engine& engine, std::string_view path) {
  return std::string(engine.schemes.front()).append(":").append(path);
}

std::chrono::milliseconds default_lease(std::string_view url) {
  const Engine* const engine = engine_of(url);
  return engine == nullptr ? std::chrono::milliseconds(kWorkerTtlMsDefault) : engine->lease;
}

std::string own_name_url(std::string_view url) {
  std::string named(url);
  const Engine* const engine = engine_of(url);
  if (engine == nullptr || engine->own_name.empty()) return named;
  const std::string_view option = engine->own_name.substr(0, engine->own_name.find('=') + 1);
  const std::size_t question = named.find('?');
  if (question == std::string::npos) return named.append("?").append(engine->own_name);
  const std::string query = "&" + named.substr(question + 1);
  if (query.find("&" + std::string(option)) != std::string::npos) return named;
  return named.append(named.back() == '?' ? "" : "&").append(engine->own_name);
}

Reach reach_of(std::string_view url) {
  const Engine* const engine = engine_of(url);
  return engine == nullptr ? Reach::network : engine->reach;
}

}  // namespace tenure
