#include "cli/bench/place.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <set>
#include <string_view>
#include <utility>

#include "base/mask_login.h"
#include "log/engines.h"

namespace tenure::cli {
namespace {

constexpr std::string_view kPool = "pool";

// Everybody on the host can see --engine, and the URL of a server may contain a password.
Result<std::string> url_of(const Call& call) {
  if (const auto named = call.value("engine")) return *named;
  const char* const variable = std::getenv("TENURE_ENGINE");
  const Engine* const engine = variable == nullptr ? nullptr : engine_of(variable);
  if (engine != nullptr && engine->reach == Reach::network) return std::string(variable);
  const Result<const Engine*> files = file_engine();
  if (!files) return Failure(files.error());
  return file_url(**files, "");
}

// Without credentials and options.
std::string without_login(const std::string& url) {
  const std::string masked = mask_logins(url);
  return masked.substr(0, masked.find('?'));
}

// The names of a file and of what lies beside it under longer names.
std::set<std::string> names_like(const std::filesystem::path& file) {
  std::set<std::string> names;
  std::error_code error;
  const std::string begin = file.filename().string();
  for (std::filesystem::directory_iterator entry(file.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    if (std::string name = entry->path().filename().string(); name.starts_with(begin)) names.insert(std::move(name));
  }
  return names;
}

// Removes the first shard last, because it stores the number of shards.
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
  const Result<std::string> url = url_of(call);
  if (!url) return Failure(url.error());
  const Result<const Engine*> engine = built_engine_of(*url);
  if (!engine) return Failure(engine.error());
  BenchPlace place(**engine);
  if (place.reach() == Reach::network) {
    place.shown_ = without_login(*url);
    place.server_ = *url;
    return place;
  }
  if (place.reach() == Reach::process) {
    place.shown_ = file_url(**engine, "");
    return place;
  }
  const std::string location = url->substr(url->find(':') + 1);
  const std::size_t query = std::min(location.find('?'), location.size());
  place.options_ = location.substr(query);
  place.shown_ = file_url(**engine, place.options_);
  if (query != 0) {
    const std::filesystem::path file = std::filesystem::absolute(location.substr(0, query));
    std::error_code error;
    if (std::filesystem::exists(file, error)) {
      return fail(Errc::refused, "create " + file.string(), "it exists; name a new file, which the benchmark removes");
    }
    place.file_ = file.string();
    place.others_ = names_like(file);
    return place;
  }
  const std::filesystem::path parent = std::filesystem::current_path();
  place.folder_ = (parent / "tenure-bench-XXXXXX").string();
  if (mkdtemp(place.folder_.data()) == nullptr) {
    place.folder_.clear();
    return fail(Errc::refused, "make a folder in " + parent.string(),
                "name a new file elsewhere: " + file_url(**engine, "PATH"));
  }
  return place;
}

BenchPlace::BenchPlace(BenchPlace&& other) noexcept
    : engine_(other.engine_),
      shown_(std::move(other.shown_)),
      options_(std::move(other.options_)),
      folder_(std::exchange(other.folder_, "")),
      file_(std::exchange(other.file_, "")),
      others_(std::move(other.others_)),
      server_(std::move(other.server_)),
      pools_(std::exchange(other.pools_, {})) {}

BenchPlace::~BenchPlace() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  if (!file_.empty()) {
    const std::filesystem::path file(file_);
    for (const std::string& name : names_like(file)) {
      if (!others_.contains(name)) std::filesystem::remove(file.parent_path() / name, ignored);
    }
  }
  for (const std::string& pool : pools_) remove_pool(server_, pool);
}

BenchSpot BenchPlace::spot(const std::string& name) const {
  const std::string own = "bench-" + std::to_string(getpid()) + "-" + name;
  if (!server_.empty()) {
    pools_.push_back(own);
    return {server_, own};
  }
  if (!file_.empty()) return {file_url(engine_, name == kPool ? file_ : file_ + "." + name) + options_};
  if (folder_.empty()) return {file_url(engine_, own)};
  return {file_url(engine_, folder_ + "/" + name + ".db") + options_};
}

}  // namespace tenure::cli
