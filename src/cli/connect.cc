#include "cli/connect.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/escaped_name.h"
#include "log/engines.h"

namespace tenure::cli {
namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A file for this pool in the user's data folder.
Result<std::string> default_url(std::string_view pool, std::string_view query) {
  const Result<const Engine*> engine = file_engine();
  if (!engine) {
    return fail(engine.error().code, "find the engine",
                engine.error().context + "; name an engine with --engine or TENURE_ENGINE");
  }
  std::string data = from_environment("XDG_DATA_HOME");
  if (data.empty()) {
    const std::string home = from_environment("HOME");
    if (home.empty()) {
      return fail(Errc::invalid, "find the engine", "neither --engine, TENURE_ENGINE, XDG_DATA_HOME nor HOME is set");
    }
    data = home + "/.local/share";
  }
  const std::filesystem::path folder = std::filesystem::path(data) / "tenure";
  std::error_code error;
  const bool made = std::filesystem::create_directories(folder, error);
  // For its owner alone, under any umask. An existing folder may be shared on purpose.
  if (made && !error) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  if (error) return fail(Errc::refused, "make " + folder.string(), error.message());
  return file_url(**engine, (folder / (file_name_of(pool) + ".db")).string()).append(query);
}

CoreOptions core_options(const Call& call, std::string url, Missing missing) {
  CoreOptions options;
  options.url = std::move(url);
  options.pool = pool_name(call);
  options.shard.count = 0;
  options.create = missing == Missing::create;
  options.node.replica.snapshots = false;  // a client that only reads leaves the snapshots to the members
  return options;
}

}  // namespace

Result<std::string> engine_url(const Call& call) {
  std::string url = call.value("engine").value_or(from_environment("TENURE_ENGINE"));
  if (url.empty()) return default_url(pool_name(call), "");
  if (reach_of(url) == Reach::host) {
    const std::string_view location = std::string_view(url).substr(url.find(':') + 1);
    if (location.empty() || location.starts_with('?')) return default_url(pool_name(call), location);
  }
  return url;
}

std::string pool_name(const Call& call) {
  std::string name = call.value("pool").value_or(from_environment("TENURE_POOL"));
  return name.empty() ? "default" : name;
}

namespace {

Result<std::unique_ptr<Shards>> open_pool(const Call& call, const WatcherOf& watcher, Missing missing,
                                          bool client_only) {
  Result<std::string> url = engine_url(call);
  if (!url) return Failure(url.error());
  CoreOptions options = core_options(call, *std::move(url), missing);
  options.client_only = client_only;
  ShardParts parts;
  if (watcher) parts.listeners = [watcher](std::uint32_t shard) { return CoreListeners{.pool = {watcher(shard)}}; };
  return Shards::open(std::move(options), parts);
}

}  // namespace

Result<std::unique_ptr<Shards>> connect(const Call& call, const WatcherOf& watcher, Missing missing) {
  return open_pool(call, watcher, missing, true);
}

Result<std::unique_ptr<Shards>> follow(const Call& call, const WatcherOf& watcher, Missing missing) {
  return open_pool(call, watcher, missing, false);
}

Result<Deadline> deadline_of(const Call& call, std::chrono::milliseconds otherwise) {
  const Result<std::chrono::milliseconds> timeout = call.duration("timeout", otherwise);
  if (!timeout) return Failure(timeout.error());
  return after(*timeout);
}

}  // namespace tenure::cli
