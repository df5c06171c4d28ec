#include "net/turns.h"

#include <gtest/gtest.h>

#include <future>
#include <optional>

namespace tenure::net {
namespace {

// Work runs in the calling thread if nobody has the turn, and what it posts with it; nobody is woken.
TEST(Turns, AGuestRunsWhatItBrings) {
  int woken = 0;
  Turns turns([&] { ++woken; }, true);
  int ran = 0;
  turns.run_or_post([&] {
    ++ran;
    turns.post([&] { ++ran; });
  });
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(woken, 0);
}

// In somebody's turn work waits, and is done before that turn ends.
TEST(Turns, InATurnOthersWait) {
  int woken = 0;
  Turns turns([&] { ++woken; }, true);
  bool ran = false;
  bool ran_inside = true;
  turns.take([&] {
    std::thread([&] { turns.run_or_post([&] { ran = true; }); }).join();
    ran_inside = ran;
  });
  EXPECT_FALSE(ran_inside);
  EXPECT_TRUE(ran);
  EXPECT_EQ(woken, 0);
}

// Where guests are not welcome the thread at the sockets is woken.
TEST(Turns, WithoutGuestsWorkIsPosted) {
  int woken = 0;
  Turns turns([&] { ++woken; }, false);
  bool ran = false;
  turns.run_or_post([&] { ran = true; });
  EXPECT_FALSE(ran);
  EXPECT_EQ(woken, 1);
  turns.take();
  EXPECT_TRUE(ran);
}

// What a turn has to call is called when it is over, so that it may bring work itself; and not by a guest, who would
// call it within the very call that it answers.
TEST(Turns, CallsComeAfterTheTurn) {
  int woken = 0;
  Turns turns([&] { ++woken; }, true);
  std::optional<bool> at_once;
  turns.run_or_post([&] {
    turns.call_after([&] {
      bool ran = false;
      turns.run_or_post([&] { ran = true; });
      at_once = ran;
    });
  });
  EXPECT_FALSE(at_once);
  EXPECT_EQ(woken, 1);
  turns.take();
  EXPECT_EQ(at_once, true);
}

// After close() nothing runs, and what waited is destroyed.
TEST(Turns, ClosedNothingRuns) {
  Turns turns([] {}, true);
  auto token = std::make_shared<int>(0);
  bool ran = false;
  turns.post([&ran, token] { ran = true; });
  turns.run_or_post([&ran, token] { ran = true; });
  turns.close();
  turns.post([&ran, token] { ran = true; });
  turns.run_or_post([&ran, token] { ran = true; });
  turns.take([&] { ran = true; });
  EXPECT_FALSE(ran);
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace tenure::net
