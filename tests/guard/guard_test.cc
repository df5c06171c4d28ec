// The guard and its keepers if one of them is killed; and what the command line shows.

#include "guard/guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "exec/host_stage.h"
#include "guard/keeper.h"
#include "guard/process.h"
#include "guard/process_tree.h"

namespace tenure::guard {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string>& stubborn() {
  static const auto* const script = new std::vector<std::string>(exec::HostStage::shell(
      "trap '' TERM; (setsid sh -c 'echo hidden $$; exec sleep 1000' &); echo pid $$; exec sleep 1000"));
  return *script;
}

TEST(Guard, ProgramsDieWithItAndTheHostStartsAnother) {
  exec::HostStage stage(stubborn());
  const std::uint64_t epoch = stage.start(JobKind::resident);
  const Watched program(std::stoi(stage.logged(epoch, "pid")));
  const Watched hidden(std::stoi(stage.logged(epoch, "hidden")));
  ::kill(stage.guard().process(), SIGKILL);
  EXPECT_TRUE(stage.guard_was_lost());
  EXPECT_EQ(stage.end_of(epoch).end, "released");
  EXPECT_TRUE(program.dies_within(0s));
  EXPECT_TRUE(hidden.dies_within(0s));
  const std::uint64_t again = stage.start(JobKind::resident);
  EXPECT_TRUE(stage.started(again));
}

TEST(Guard, ProgramsAndStraysDieWithTheirKeeper) {
  exec::HostStage stage(stubborn());
  const std::uint64_t epoch = stage.start(JobKind::resident);
  const Watched program(std::stoi(stage.logged(epoch, "pid")));
  const Watched hidden(std::stoi(stage.logged(epoch, "hidden")));
  const auto keepers = children_of(stage.guard().process());
  ASSERT_EQ(keepers.size(), 1U);
  ::kill(keepers[0], SIGKILL);
  EXPECT_EQ(stage.end_of(epoch).end, "failed");
  EXPECT_TRUE(program.dies_within(0s));
  EXPECT_TRUE(hidden.dies_within(0s));
  EXPECT_EQ(children(stage.guard().process()), 0U);
}

// After the death of a guard programs have shields: the next one that kills "its guard" kills its own shield. Its job
// fails, and its neighbour is not disturbed.
TEST(Guard, AShieldShowsWhoKillsGuards) {
  exec::HostStage stage(stubborn());
  const std::uint64_t first = stage.start(JobKind::resident);
  stage.logged(first, "pid");
  ::kill(stage.guard().process(), SIGKILL);
  ASSERT_EQ(stage.end_of(first).end, "released");
  const std::uint64_t neighbour = stage.start(JobKind::resident, "", "neighbour");
  const Watched other(std::stoi(stage.logged(neighbour, "pid")));
  const auto others = children_of(stage.guard().process());
  ASSERT_EQ(others.size(), 1U);
  const std::uint64_t poison = stage.start(JobKind::resident, "", "poison");
  const Watched program(std::stoi(stage.logged(poison, "pid")));
  const Watched hidden(std::stoi(stage.logged(poison, "hidden")));
  for (const pid_t child : children_of(stage.guard().process())) {
    if (child != others[0]) ::kill(child, SIGKILL);
  }
  const exec::HostStage::Heard heard = stage.end_of(poison);
  EXPECT_EQ(heard.end, "failed");
  EXPECT_EQ(heard.next, HoldReports::Next::retry);
  EXPECT_EQ(heard.text, "the program killed its guard: its keeper was killed by SIGKILL");
  EXPECT_TRUE(program.dies_within(0s));
  EXPECT_TRUE(hidden.dies_within(0s));
  EXPECT_FALSE(other.dies_within(0s));
}

// A stop, and the lease's end, pass through a shield.
TEST(Guard, ShieldedProgramsEndLikeOthers) {
  exec::HostStage stage(stubborn());
  stage.guard().shield_until(BootClock().now() + 1min);
  const std::uint64_t stopped = stage.start(JobKind::resident);
  stage.logged(stopped, "hidden");
  stage.stop(stopped, 100ms);
  EXPECT_EQ(stage.end_of(stopped).end, "released");
  stage.renew(2s);
  const std::uint64_t late = stage.start(JobKind::resident);
  const Watched program(std::stoi(stage.logged(late, "pid")));
  const Watched hidden(std::stoi(stage.logged(late, "hidden")));
  EXPECT_EQ(stage.end_of(late).end, "released");
  EXPECT_TRUE(program.dies_within(0s));
  EXPECT_TRUE(hidden.dies_within(0s));
}

TEST(Guard, ProgramsAndFoldersGoWithTheHost) {
  conformance::TemporaryDirectory parent;
  std::unique_ptr<Watched> program;
  pid_t guard = -1;
  {
    exec::HostStage stage(stubborn());
    const std::uint64_t epoch = stage.start(JobKind::resident);
    program = std::make_unique<Watched>(std::stoi(stage.logged(epoch, "pid")));
    guard = stage.guard().process();
  }
  EXPECT_TRUE(program->dies_within(0s));
  EXPECT_EQ(::kill(guard, 0), -1);  // reaped
}

TEST(Guard, CommandLineHasNoSecret) {
  auto guard = Guard::start({.command = {TENURE_GUARD}});
  ASSERT_TRUE(guard) << guard.error().message();
  (*guard)->add_log("redis://user:secret@host", "pool");
  std::ifstream file("/proc/" + std::to_string((*guard)->process()) + "/cmdline");
  const std::string line((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(line.find("secret"), std::string::npos);
}

TEST(Guard, MissingProgramIsSaid) {
  const auto guard = Guard::start({.command = {"/nowhere/tenure-guard"}});
  ASSERT_FALSE(guard);
  EXPECT_EQ(guard.error().message().find("No such file") == std::string::npos, false) << guard.error().message();
}

// Runs a keeper as the guard does, and gives what it reports first.
KeeperReport first_report(bool may_run) {
  std::array<int, 2> reports{};
  EXPECT_EQ(pipe2(reports.data(), O_CLOEXEC), 0);
  const pid_t guard = getpid();
  const pid_t keeper = fork();
  if (keeper == 0) {
    KeeperTask task;
    task.number = 7;
    task.arguments = {"true"};
    task.environment = {"PATH=/usr/bin:/bin"};
    for (int i = 0; i < 3; ++i) task.standard.emplace_back(::open("/dev/null", O_RDWR | O_CLOEXEC));
    task.may_run = [may_run] { return may_run; };
    keep(std::move(task), guard, reports[1], {reports[1]});
  }
  KeeperReport report{};
  EXPECT_EQ(::read(reports[0], &report, sizeof report), static_cast<ssize_t>(sizeof report));
  waitpid(keeper, nullptr, 0);
  for (const int end : reports) ::close(end);
  return report;
}

// Between the guard's look at the lease and the program lie two forks, and the machine may stand still in them.
TEST(Keeper, LooksAtTheLeaseLast) {
  EXPECT_EQ(first_report(true).kind, MessageKind::started);
  const KeeperReport late = first_report(false);
  EXPECT_EQ(late.kind, MessageKind::refused);
  EXPECT_EQ(late.value, ECANCELED);
  EXPECT_EQ(late.step, static_cast<std::int32_t>(StartStep::lease));
}

}  // namespace
}  // namespace tenure::guard
