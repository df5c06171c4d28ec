// The same as checker_test.cc for the promises about where keys are held, how pools end, and how long delays last.

#include <gtest/gtest.h>

#include "sim/checker/checker.h"
#include "sim/checker/story.h"

namespace tenure::sim {
namespace {

TEST(Checker, W_KeysAreWhereTheyBelong) {
  const auto story = [](const std::string& holder) {
    Story told;
    told.at(0).lease(1, 500).add(WorkerReady{1, "a"}).add(WorkerReady{2, "b"}).resident("k", 50, 5);
    return told.at(1).add(HoldBegan{1, Story::session(1), "k", 5, 50, 0, holder});
  };
  const auto served = [&] { return story("a").add(Serves{2, "b", "k", true}); };
  EXPECT_EQ(story("a").at(100).close().verdict(), "");
  EXPECT_EQ(served().at(100).close().verdict(), "w");
  EXPECT_EQ(served().at(50).close().verdict(), "") << "it has not had the time to move";
  EXPECT_EQ(served().add(Serves{2, "b", "k", false}).at(100).close().verdict(), "");
  EXPECT_EQ(served().add(ProcessLeft{2}).at(100).close().verdict(), "");
  Expectations chosen;
  chosen.choice.any = true;
  const std::string right = chosen.choice.of("k", {"a", "b"}) == 0 ? "a" : "b";
  const std::string wrong = right == "a" ? "b" : "a";
  EXPECT_EQ(story(right).at(100).close().verdict(chosen), "");
  EXPECT_EQ(story(wrong).at(100).close().verdict(chosen), "w");
  EXPECT_EQ(story(wrong).at(90).add(WorkerReady{3, "c"}).at(100).close().verdict(chosen), "");
}

TEST(Checker, Z_APoolThatIsShutDownEnds) {
  const auto story = [] { return Story().at(1).add(WorkerReady{1, "a"}).add(Healed{}).add(LogShutdown{1}); };
  EXPECT_EQ(story().at(100).close().verdict(), "z") << "it is still there";
  EXPECT_EQ(story().at(50).close().verdict(), "") << "it has time";
  EXPECT_EQ(story().at(2).add(LogRemoved{true}).at(100).close().verdict(), "");
  EXPECT_EQ(story().at(2).add(LogRemoved{false}).verdict(), "z") << "before its end";
  EXPECT_EQ(story().at(2).add(LogLost{0}).at(100).close().verdict(), "") << "and with it the order to end";
  EXPECT_EQ(story().at(2).add(LogDrained{2}).at(3).add(ProcessLeft{1}).verdict(), "z") << "nobody is left to end it";
  EXPECT_EQ(story().lease(1, 2).at(2).add(LogDrained{2}).at(3).add(ProcessLeft{1}).verdict(), "") << "it was fenced";
  EXPECT_EQ(story().at(2).add(LogDrained{2}).add(LogRemoved{true}).at(3).add(ProcessLeft{1}).verdict(), "");
  EXPECT_EQ(story().at(2).add(LogDrained{2}).at(3).add(ProcessCrashed{1}).verdict(), "");
  EXPECT_EQ(story().at(2).resident("k", 50, 5).verdict(), "z") << "a resident is started";
  const auto task = [&] { return story().asks(7, Ask::task, "t").log(7, Step::accepted).grant("t", 1, 7); };
  EXPECT_EQ(task().log(7, Step::done).ungrant("t", 1).add(LogRemoved{true}).verdict(), "");
  EXPECT_EQ(task().ungrant("t", 1).add(LogRemoved{true}).verdict(), "f") << "the task was not done";
}

TEST(Checker, D_ADelayLastsAsLongAsItShould) {
  const auto granted = [](double at) {
    Story story;
    story.at(1).add(Asked{99, 7, Ask::task, "t", true, 0, "", 20 * kSecond}).log(7, Step::accepted);
    return story.at(at).grant("t", 1, 7).log(7, Step::done).ungrant("t", 1);
  };
  const Expectations calm{.calm = true, .telling = kSecond};
  EXPECT_EQ(granted(24).verdict(calm), "");
  EXPECT_EQ(granted(26).verdict(calm), "D");
  EXPECT_EQ(granted(26).verdict(), "") << "log time may stand still";
}

}  // namespace
}  // namespace tenure::sim
