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
  std::string url() const override { return place_->fresh_url(); }
  std::vector<std::string> leftovers() const override { return place_->leftovers(); }

 private:
  const std::unique_ptr<Place> place_;
  std::vector<std::unique_ptr<Log>> handles_;
};

}  // namespace

std::vector<TestEngine> pool_engines() {
  std::vector<TestEngine> all = test_engines();
  for (TestEngine engine : test_engines()) {
    if (!engine.pool_tests_with_shards) continue;
    engine.name += "_4_shards";
    engine.make_place = [make = engine.make_place]() -> std::unique_ptr<Place> {
      return std::make_unique<ShardedPlace>(make());
    };
    all.push_back(std::move(engine));
  }
  return all;
}

}  // namespace tenure::conformance
