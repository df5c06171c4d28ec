#include <atomic>

#include "pool_conformance/fixture.h"

namespace tenure::conformance {
namespace {

constexpr std::uint32_t kShards = 4;

// A place, and in it a pool that has shards. The handles stay open: in memory they are what keeps it there.
class ShardedPlace final : public Place {
 public:
  explicit ShardedPlace(std::unique_ptr<Place> place) : place_(std::move(place)) {
    for (std::uint32_t i = 0; i < kShards; ++i) {
      handles_.push_back(open_log(url(), {.pool = "default", .read_only = false, .shard = {i, kShards}}).value());
    }
  }
  std::string url() const override { return place_->url(); }

 private:
  const std::unique_ptr<Place> place_;
  std::vector<std::unique_ptr<Log>> handles_;
};

// Without the log that a place in memory keeps: its pool would be whole.
class MemoryShards final : public Place {
 public:
  std::string url() const override { return "memory:sharded-" + std::to_string(number_); }

 private:
  static int next_number() {
    static std::atomic<int> last = 0;
    return ++last;
  }
  const int number_ = next_number();
};

[[maybe_unused]] Engine engine(std::string_view name) {
  const std::vector<Engine> all = engines();
  return *std::find_if(all.begin(), all.end(), [&](const Engine& one) { return one.name == name; });
}

}  // namespace

// The embedded file has its shards in shards_test.cc; here its commits would take most of the time.
std::vector<Engine> pool_engines() {
  std::vector<Engine> all = engines();
  for (Engine sharded : engines()) {
    if (sharded.name == "memory") {
      sharded.make_place = []() -> std::unique_ptr<Place> {
        return std::make_unique<ShardedPlace>(std::make_unique<MemoryShards>());
      };
    } else if (sharded.name == "redis") {
      sharded.make_place = []() -> std::unique_ptr<Place> {
        return std::make_unique<ShardedPlace>(engine("redis").make_place());
      };
    } else {
      continue;
    }
    sharded.name += "_4_shards";
    all.push_back(std::move(sharded));
  }
  return all;
}

}  // namespace tenure::conformance
