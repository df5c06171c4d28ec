#include "base/id_map.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>

namespace tenure {
namespace {

// Whatever is added, found and erased, it is as with a std::map. Some ids lie close together, so that they share
// blocks, and others far apart, so that runs of cells form, wrap around the end, and are moved back.
TEST(IdMap, IsLikeAMap) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 dice(seed);
  IdMap<std::unique_ptr<int>> map;
  std::map<std::uint64_t, int> model;
  const auto draw = [](std::uint64_t number) { return number % 2 == 0 ? 1 + number : UINT64_MAX - number * 1000; };
  for (int step = 0; step < 200'000; ++step) {
    const std::uint64_t id = draw(dice() % (step % 20'000 < 10'000 ? 3000 : 50));
    if (dice() % 2 == 0) {
      map[id] = std::make_unique<int>(step);
      model[id] = step;
    } else {
      ASSERT_EQ(map.erase(id), model.erase(id) == 1);
    }
    const std::uint64_t sought = draw(dice() % 3000);
    const auto expected = model.find(sought);
    const std::unique_ptr<int>* found = map.find(sought);
    ASSERT_EQ(found != nullptr, expected != model.end());
    if (found != nullptr) {
      ASSERT_EQ(**found, expected->second);
    }
    ASSERT_EQ(map.size(), model.size());
  }
  std::map<std::uint64_t, int> all;
  map.each([&](std::uint64_t id, const std::unique_ptr<int>& value) { all[id] = *value; });
  EXPECT_EQ(all, model);
}

// Zero means "none" everywhere, and may well be looked for.
TEST(IdMap, NeverFindsZero) {
  IdMap<int> map;
  EXPECT_FALSE(map.contains(0));
  map[1] = 1;
  EXPECT_FALSE(map.contains(0));
  EXPECT_FALSE(map.erase(0));
}

// What has been erased is destroyed at once, and not when its cell is used again.
TEST(IdMap, DestroysWhatIsErased) {
  const auto value = std::make_shared<int>(7);
  IdMap<std::shared_ptr<int>> map;
  for (std::uint64_t id = 1; id <= 10'000; ++id) map[id] = value;
  EXPECT_EQ(value.use_count(), 10'001);
  for (std::uint64_t id = 1; id <= 10'000; ++id) EXPECT_TRUE(map.erase(id));
  EXPECT_EQ(value.use_count(), 1);
  EXPECT_TRUE(map.empty());
  EXPECT_FALSE(map.contains(1));
  map[1] = value;
  EXPECT_TRUE(map.contains(1));
}

// What was moved away is empty, and can be used again.
TEST(IdMap, Moves) {
  IdMap<int> map;
  map[UINT64_MAX] = 1;
  IdMap<int> other = std::exchange(map, {});
  EXPECT_EQ(*other.find(UINT64_MAX), 1);
  EXPECT_TRUE(map.empty());
  EXPECT_FALSE(map.contains(UINT64_MAX));
  map[UINT64_MAX] = 2;
  EXPECT_EQ(*other.find(UINT64_MAX), 1);
  EXPECT_EQ(*map.find(UINT64_MAX), 2);
}

// Where a value lies does not change while others come and go.
TEST(IdMap, ValuesStay) {
  IdMap<int> map;
  const int* const first = &map[1000];
  for (std::uint64_t id = 1; id <= 10'000; ++id) map[id] = 0;
  for (std::uint64_t id = 1; id <= 10'000; ++id) {
    if (id != 1000) map.erase(id);
  }
  EXPECT_EQ(map.find(1000), first);
}

}  // namespace
}  // namespace tenure
