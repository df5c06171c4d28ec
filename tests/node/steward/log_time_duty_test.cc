// Ticks come when the next timer is due, and until then often enough for log time to keep pace with real time. Where
// beats are rare, since the lease is long, nothing else moves it.

#include "node/steward/log_time_duty.h"

#include <gtest/gtest.h>

#include "machine/pool.h"
#include "node/manual_world.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;

class LogTimeDutyTest : public testing::Test, private AppenderEvents {
 protected:
  LogTimeDutyTest() { pool_.node("a"); }

  // Lets real time pass until a tick is sent, and puts it into the log. How long that took.
  Nanos tick(std::size_t rank = 0) {
    duty_.look(pool_.machine(), rank, loop_.now());
    const Instant from = loop_.now();
    while (log_.appends.empty() && loop_.now() - from < 1h) loop_.advance(1ms);
    EXPECT_EQ(log_.appends.size(), 1U);
    const Nanos took = loop_.now() - from;
    pool_.jump(to_ms(took));
    pool_.append(test::rec::tick());
    log_.answer(++position_);
    loop_.settle();
    return took;
  }

  test::TestPool pool_;

 private:
  void append_gave_up() override {}
  void append_refused(const Error& /*error*/) override {}

  ManualLoop loop_;
  ManualLog log_;
  SeededEntropy entropy_{7};
  Appender appender_{log_, loop_, loop_, entropy_, *this};
  LogTimeDuty duty_{loop_, appender_};
  Position position_ = 0;
};

TEST_F(LogTimeDutyTest, ADelayTakesAsLongAsItSays) {
  pool_.task("k", {.delay_ms = 20'000});
  Nanos passed{};
  while (pool_.holder("k").empty() && passed < 1min) passed += tick();
  EXPECT_GE(passed, 20s);
  EXPECT_LE(passed, 21s);
}

TEST_F(LogTimeDutyTest, SoItDoesWhereAYoungerMemberTicks) {
  pool_.task("k", {.delay_ms = 20'000});
  Nanos passed{};
  while (pool_.holder("k").empty() && passed < 1min) passed += tick(5);
  EXPECT_LE(passed, 24s);
}

TEST_F(LogTimeDutyTest, ATimerThatIsNearIsNotWaitedForLonger) {
  pool_.task("k", {.delay_ms = 70});
  EXPECT_LE(tick(), 71ms);
  EXPECT_EQ(pool_.holder("k"), "a");
}

}  // namespace
}  // namespace tenure
