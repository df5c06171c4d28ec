#include "log_conformance/engine.h"

#include <atomic>

#include "log_conformance/temporary_directory.h"
#ifdef TENURE_WITH_REDIS
#include "log_conformance/redis_server.h"
#endif

namespace tenure::conformance {
namespace {

// A log in memory lives while a handle is open, and tests close all of theirs in between: the place keeps one.
class MemoryPlace final : public Place {
 public:
  MemoryPlace() : keeper_(open_log(url(), {}).value()) {}
  std::string url() const override { return "memory:conformance-" + std::to_string(number_); }

 private:
  static int next_number() {
    static std::atomic<int> last = 0;
    return ++last;
  }

  const int number_ = next_number();
  const std::unique_ptr<Log> keeper_;
};

class SqlitePlace final : public Place {
 public:
  std::string url() const override { return "sqlite:" + directory_.path() + "/pool.db"; }

 private:
  const TemporaryDirectory directory_;
};

#ifdef TENURE_WITH_REDIS
class RedisPlace final : public Place {
 public:
  std::string url() const override { return server_.url(); }

 private:
  const RedisServer server_;
};
#endif

template <class Kind>
std::unique_ptr<Place> make() {
  return std::make_unique<Kind>();
}

}  // namespace

std::vector<Engine> engines() {
  std::vector<Engine> all;
  all.push_back({.name = "memory", .make_place = make<MemoryPlace>});
#ifdef TENURE_WITH_SQLITE
  all.push_back({.name = "sqlite", .across_processes = true, .make_place = make<SqlitePlace>});
#endif
#ifdef TENURE_WITH_REDIS
  all.push_back({.name = "redis", .across_processes = true, .many_pools = true, .make_place = make<RedisPlace>});
#endif
  return all;
}

std::vector<Engine> engines_across_processes() {
  std::vector<Engine> some = engines();
  std::erase_if(some, [](const Engine& engine) { return !engine.across_processes; });
  return some;
}

std::unique_ptr<Log> LogConformance::open(bool read_only) const {
  auto log = open_log(url(), {.pool = "default", .read_only = read_only, .shard = {}});
  EXPECT_TRUE(log) << log.error().message();
  return log ? std::move(*log) : nullptr;
}

}  // namespace tenure::conformance
