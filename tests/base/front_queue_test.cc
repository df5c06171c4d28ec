#include "base/front_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <random>

namespace tenure {
namespace {

// Beside a std::deque, through all that can be done with it: what comes out, what is left, and in which order.
TEST(FrontQueue, IsAQueue) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  FrontQueue<std::unique_ptr<int>> queue;
  std::deque<int> expected;
  for (int step = 0; step < 200'000; ++step) {
    // Long stretches in which it grows, and then others in which it shrinks to nothing.
    const bool grows = step / 20'000 % 2 == 0;
    const auto dice = random() % 100;
    if (dice < (grows ? 60U : 40U)) {
      queue.push_back(std::make_unique<int>(step));
      expected.push_back(step);
    } else if (!expected.empty()) {
      ASSERT_EQ(*queue.front(), expected.front());
      ASSERT_EQ(*queue.take_front(), expected.front());
      expected.pop_front();
    }
    if (random() % 10'000 == 0) {
      queue.erase_if([](const std::unique_ptr<int>& element) { return *element % 3 == 0; });
      std::erase_if(expected, [](int element) { return element % 3 == 0; });
    }
    ASSERT_EQ(queue.size(), expected.size());
    ASSERT_EQ(queue.empty(), expected.empty());
  }
  auto each = expected.begin();
  for (const auto& element : queue) EXPECT_EQ(*element, *each++);
  EXPECT_EQ(each, expected.end());
}

}  // namespace
}  // namespace tenure
