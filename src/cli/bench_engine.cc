#include "cli/bench_engine.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <utility>

#include "base/mask_login.h"
#include "log/open.h"

namespace tenure::cli {
namespace {

bool is_server(std::string_view url) { return url.starts_with("redis") || url.starts_with("unix:"); }

// --engine is seen by everybody on the host; a server's URL may have a password in it.
std::string engine_of(const Call& call) {
  if (const auto named = call.value("engine")) return *named;
  const char* const variable = std::getenv("TENURE_ENGINE");
  return variable != nullptr && is_server(variable) ? variable : "sqlite:";
}

// Without credentials and options.
std::string shown(const std::string& url) {
  const std::string masked = mask_logins(url);
  return masked.substr(0, masked.find('?'));
}

// The first shard, which knows how many there are, goes last.
void remove_pool(const std::string& url, const std::string& pool, Shard shard = {0, 0}) {
  const Result<std::unique_ptr<Log>> log = open_log(url, {.pool = pool, .shard = shard});
  if (!log) return;
  if (shard.index == 0) {
    for (std::uint32_t other = (*log)->shards() - 1; other > 0; --other) {
      remove_pool(url, pool, {other, (*log)->shards()});
    }
  }
  std::promise<void> removed;
  (*log)->remove([&](const Status&) { removed.set_value(); });
  removed.get_future().wait();
  (*log)->close();
}

}  // namespace

Result<BenchPlace> BenchPlace::of(const Call& call) {
  BenchPlace place;
  const std::string engine = engine_of(call);
  if (engine.starts_with("memory:")) {
    place.engine_ = "memory:";
    return place;
  }
  if (is_server(engine)) {
    place.engine_ = shown(engine);
    place.server_ = engine;
    return place;
  }
  if (!engine.starts_with("sqlite:")) {
    return fail(Errc::invalid, "bench", "benchmarks run on sqlite:, memory: and Redis in this version");
  }
  const std::size_t query = engine.find('?');
  const std::string options = query == std::string::npos ? "" : engine.substr(query);
  const std::string path = engine.substr(7, query == std::string::npos ? query : query - 7);
  const std::filesystem::path parent = path.empty() ? std::filesystem::current_path() : std::filesystem::path(path);
  place.folder_ = (parent / "tenure-bench-XXXXXX").string();
  if (mkdtemp(place.folder_.data()) == nullptr) {
    place.folder_.clear();
    return fail(Errc::refused, "make a folder in " + parent.string(),
                "name a folder that can be written: sqlite:FOLDER");
  }
  place.engine_ = "sqlite:" + options;
  return place;
}

BenchPlace::BenchPlace(BenchPlace&& other) noexcept
    : engine_(std::move(other.engine_)),
      folder_(std::exchange(other.folder_, "")),
      server_(std::move(other.server_)),
      pools_(std::exchange(other.pools_, {})) {}

BenchPlace::~BenchPlace() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  for (const std::string& pool : pools_) remove_pool(server_, pool);
}

BenchSpot BenchPlace::spot(const std::string& name) const {
  const std::string own = "bench-" + std::to_string(getpid()) + "-" + name;
  if (!server_.empty()) {
    pools_.push_back(own);
    return {server_, own};
  }
  if (folder_.empty()) return {"memory:" + own};
  return {"sqlite:" + folder_ + "/" + name + ".db" + engine_.substr(7)};
}

}  // namespace tenure::cli
