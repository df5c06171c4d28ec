// Guard and keepers that are stopped, as a program of the same user can do it: programs still end in time.

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "exec/host_stage.h"
#include "guard/process.h"
#include "guard/process_tree.h"

namespace tenure::guard {
namespace {

using namespace std::chrono_literals;

// A program that ignores SIGTERM, with a daemon in a session of its own.
class FrozenTest : public testing::Test {
 protected:
  FrozenTest()
      : stage_(exec::HostStage::shell(
            "trap '' TERM; (setsid sh -c 'echo hidden $$; exec sleep 1000' &); echo pid $$; exec sleep 1000")) {}

  void start(Nanos lease) {
    stage_.renew(lease);
    began_ = BootClock().now();
    epoch_ = stage_.start(JobKind::resident);
    program_ = std::make_unique<Watched>(std::stoi(stage_.logged(epoch_, "pid")));
    hidden_ = std::make_unique<Watched>(std::stoi(stage_.logged(epoch_, "hidden")));
    const auto keepers = children_of(stage_.guard().process());
    ASSERT_EQ(keepers.size(), 1U);
    keeper_ = keepers[0];
  }
  pid_t guard() { return stage_.guard().process(); }

  // Both are dead before the lease that was given at the start has ended.
  void expect_dead_in_time(Nanos lease) {
    EXPECT_TRUE(program_->dies_within(kDeadline));
    EXPECT_TRUE(hidden_->dies_within(kDeadline));
    EXPECT_LT(BootClock().now() - began_, lease);
  }

  exec::HostStage stage_;
  std::uint64_t epoch_ = 0;
  pid_t keeper_ = -1;
  Instant began_;
  std::unique_ptr<Watched> program_;
  std::unique_ptr<Watched> hidden_;
};

TEST_F(FrozenTest, AStopIsObeyedThoughTheKeeperIsStopped) {
  start(1min);
  ::kill(keeper_, SIGSTOP);
  stage_.stop(epoch_, 100ms);
  EXPECT_EQ(stage_.end_of(epoch_).end, "released");
  EXPECT_TRUE(program_->dies_within(0s));
  EXPECT_TRUE(hidden_->dies_within(0s));
}

TEST_F(FrozenTest, AStopIsObeyedThoughTheKeeperIsTraced) {
  start(1min);
  if (ptrace(PTRACE_SEIZE, keeper_, 0, 0) != 0) GTEST_SKIP() << "only with CAP_SYS_PTRACE";
  ASSERT_EQ(ptrace(PTRACE_INTERRUPT, keeper_, 0, 0), 0);
  int status = 0;
  ASSERT_EQ(waitpid(keeper_, &status, __WALL), keeper_);
  ASSERT_TRUE(WIFSTOPPED(status));
  stage_.stop(epoch_, 100ms);
  EXPECT_TRUE(program_->dies_within(kDeadline));
  EXPECT_TRUE(hidden_->dies_within(kDeadline));
  while (waitpid(keeper_, &status, __WALL) == keeper_ && WIFSTOPPED(status)) {
  }
  EXPECT_EQ(stage_.end_of(epoch_).end, "released");
}

TEST_F(FrozenTest, TheLeaseHoldsThoughTheGuardIsStopped) {
  start(2s);
  ::kill(guard(), SIGSTOP);
  expect_dead_in_time(2s);
}

TEST_F(FrozenTest, TheLeaseHoldsThoughGuardAndKeeperAreStopped) {
  start(2s);
  ::kill(guard(), SIGSTOP);
  ::kill(keeper_, SIGSTOP);
  expect_dead_in_time(2s);
}

TEST_F(FrozenTest, AKeeperThatIsStoppedOutlivesItsGuardByNothing) {
  start(1min);
  ::kill(keeper_, SIGSTOP);
  ::kill(guard(), SIGKILL);
  EXPECT_EQ(stage_.end_of(epoch_).end, "released");
  EXPECT_TRUE(program_->dies_within(0s));
  EXPECT_TRUE(hidden_->dies_within(0s));
}

// Neither keeper nor guard can end what the program has left. It comes to the worker, which is a subreaper.
TEST_F(FrozenTest, WhoKillsKeeperAndGuardIsMetByTheWorker) {
  start(1min);
  ::kill(guard(), SIGSTOP);
  ::kill(keeper_, SIGKILL);
  ::kill(guard(), SIGKILL);
  EXPECT_EQ(stage_.end_of(epoch_).end, "released");
  EXPECT_TRUE(program_->dies_within(0s));
  EXPECT_TRUE(hidden_->dies_within(0s));
  EXPECT_TRUE(stage_.started(stage_.start(JobKind::resident)));
  EXPECT_EQ(children(getpid()), 1U);  // the new guard, and no zombies
}

// Of all signals, only SIGKILL and SIGSTOP can do anything to the guard.
TEST_F(FrozenTest, SignalsDoNotEndTheGuard) {
  start(1min);
  for (const int number : {SIGSEGV, SIGABRT, SIGTERM, SIGUSR1, SIGTSTP, SIGALRM, SIGRTMIN}) ::kill(guard(), number);
  stage_.stop(epoch_, 0s);
  EXPECT_EQ(stage_.end_of(epoch_).end, "released");
  EXPECT_EQ(::kill(guard(), 0), 0);
  EXPECT_TRUE(stage_.started(stage_.start(JobKind::resident)));
}

}  // namespace
}  // namespace tenure::guard
