// Child processes as workers: their answers, their ends, and that nothing of them is left. The program is
// tests/process/child.cc, which misbehaves on request.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <tenure/checkout_process.hpp>
#include <thread>
#include <vector>

#include "guard/process.h"
#include "guard/process_tree.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using guard::Watched;

constexpr auto kPatience = 20s;

ProcessOptions program(const std::string& mode = "") {
  ProcessOptions options;
  options.command = {PROCESS_CHILD};
  if (!mode.empty()) options.command.push_back(mode);
  return options;
}

CheckoutOptions workers(std::uint32_t count) {
  CheckoutOptions options;
  options.default_workers = options.max_workers = count;
  options.max_queue = -1;
  options.start_backoff = 1ms;
  options.start_backoff_max = 5ms;
  return options;
}

std::unique_ptr<ProcessWorker> started(ProcessOptions options) {
  auto worker = ProcessWorker::start(std::move(options));
  EXPECT_TRUE(worker) << worker.error().message();
  return worker ? *std::move(worker) : nullptr;
}

CheckoutPool<ProcessWorker> pool_of(ProcessOptions options, const CheckoutOptions& checkout) {
  return open_process_pool(std::move(options), checkout).value();
}

template <class Holds>
bool eventually(const Holds& holds) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

// Every test ends as it began: no descriptor and no process more.
class Process : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("TENURE_GUARD", TENURE_GUARD, 1); }
  void SetUp() override {
    started(program());  // the descriptors of ChildProcesses stay
    ASSERT_TRUE(eventually([] { return guard::children(getpid()) == 0; }));
    // A guard that is reaped is not yet forgotten: the next one is started after that.
    std::size_t before = 0;
    while (before != guard::open_descriptors()) {
      before = guard::open_descriptors();
      std::this_thread::sleep_for(5ms);
    }
    descriptors_ = before;
  }
  void TearDown() override {
    EXPECT_TRUE(eventually([] { return guard::children(getpid()) == 0; }));
    EXPECT_TRUE(eventually([this] { return guard::open_descriptors() == descriptors_; }));
  }

 private:
  std::size_t descriptors_ = 0;
};

TEST_F(Process, AnswersCallsErrorsAndParts) {
  ProcessOptions options = program("--ready");
  options.says_ready = true;
  const auto worker = started(options);
  EXPECT_EQ(worker->call("hello").value(), "hello");
  EXPECT_EQ(worker->call("").value(), "");
  EXPECT_EQ(worker->call(std::string(3U << 20, 'x')).value().size(), 3U << 20);
  const auto failed = worker->call("error not today");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::job_failed);
  EXPECT_EQ(failed.error().context, "not today");
  EXPECT_EQ(worker->call("parts 3").value(), "0 1 2 end");
  std::vector<std::string> parts;
  ASSERT_TRUE(worker->call_streaming("parts 2", [&](std::string_view part) { parts.emplace_back(part); }));
  EXPECT_EQ(parts, (std::vector<std::string>{"0 ", "1 ", "end"}));
  ASSERT_TRUE(worker->send("a request ", true));
  ASSERT_TRUE(worker->send("in parts"));
  EXPECT_EQ(worker->receive()->bytes, "a request in parts");
  EXPECT_EQ(worker->calls(), 7U);
  EXPECT_TRUE(worker->fit());
}

// More than the sockets can hold, in both directions at once: neither side waits for the other forever.
TEST_F(Process, ManyRequestsUnderWay) {
  const auto worker = started(program());
  const std::string payload(1000, 'p');
  constexpr int kRequests = 3000;
  for (int i = 0; i < kRequests; ++i) ASSERT_TRUE(worker->send(std::to_string(i) + payload));
  EXPECT_EQ(worker->unanswered(), 3000U);
  EXPECT_EQ(worker->call("now").error().code, Errc::invalid);
  EXPECT_FALSE(worker->fit());
  for (int i = 0; i < kRequests; ++i) ASSERT_EQ(worker->receive()->bytes, std::to_string(i) + payload);
  EXPECT_EQ(worker->receive().error().code, Errc::invalid);
  EXPECT_EQ(worker->call("now").value(), "now");
}

// A holder that sends and never receives gets an error, and can continue after it has received.
TEST_F(Process, WhoNeverReceivesIsHeldUp) {
  ProcessOptions options = program();
  options.frame_bytes_max = 1U << 20;
  const auto worker = started(options);
  const std::string payload(1U << 20, 'p');
  Status sent;
  int count = 0;
  for (; sent && count < 100; ++count) sent = worker->send(payload);
  ASSERT_FALSE(sent);
  ASSERT_EQ(sent.error().code, Errc::busy);
  for (int i = 0; i < count - 1; ++i) ASSERT_EQ(worker->receive()->bytes.size(), payload.size());
  EXPECT_EQ(worker->call("again").value(), "again");
}

TEST_F(Process, BadInputIsRefusedBeforeAnythingIsSent) {
  EXPECT_EQ(ProcessWorker::start({}).error().code, Errc::invalid);
  ProcessOptions options = program();
  options.environment = {"no value"};
  EXPECT_EQ(open_process_pool(options).error().code, Errc::invalid);
  options = program();
  options.frame_bytes_max = 10;
  const auto worker = started(options);
  EXPECT_EQ(worker->call("eleven byte").error().code, Errc::invalid);
  EXPECT_EQ(worker->call("ten bytes!").value(), "ten bytes!");
}

TEST_F(Process, StartsThatFailSayWhy) {
  ProcessOptions options;
  options.command = {"/nowhere/program"};
  EXPECT_EQ(ProcessWorker::start(options).error().context, "cannot run '/nowhere/program': No such file or directory");
  options = program();
  options.folder = "/nowhere";
  EXPECT_EQ(ProcessWorker::start(options).error().context,
            "cannot run programs in '/nowhere': No such file or directory");
  options = program("--fail");
  options.says_ready = true;
  EXPECT_EQ(ProcessWorker::start(options).error().context, "the program ended with exit code 3");
  options = program("--mute");
  options.says_ready = true;
  options.start_timeout = 100ms;
  options.stop_patience = 0ms;
  EXPECT_EQ(ProcessWorker::start(options).error().code, Errc::timed_out);
}

// Anything that is not an answer to the request ends the program, and the holder gets the reason.
TEST_F(Process, BrokenFramesEndTheProgram) {
  struct Case {
    const char* request;
    Errc code;
  };
  for (const Case& each : {Case{"garbage", Errc::corrupt},
                           {"long", Errc::corrupt},
                           {"zero", Errc::corrupt},
                           {"strange", Errc::corrupt},
                           {"partial 4", Errc::worker_died},
                           {"exit 5", Errc::worker_died},
                           {"close", Errc::worker_died},
                           {"bytes 2000", Errc::corrupt}}) {
    ProcessOptions options = program();
    options.frame_bytes_max = 1000;
    const auto worker = started(options);
    const Watched process(static_cast<pid_t>(worker->process_id()));
    const auto answer = worker->call(each.request);
    ASSERT_FALSE(answer) << each.request;
    EXPECT_EQ(answer.error().code, each.code) << each.request << ": " << answer.error().message();
    EXPECT_TRUE(process.dies_within(kPatience)) << each.request;
    EXPECT_FALSE(worker->fit());
    EXPECT_EQ(worker->call("more").error().code, Errc::worker_died);
  }
  EXPECT_EQ(started(program())->call("exit 5").error().context, "the program ended with exit code 5");
}

// A second answer to one request is not given to the next holder.
TEST_F(Process, AnswersToNobodyAreNotGivenToTheNext) {
  auto pool = pool_of(program(), workers(1));
  std::int64_t first = 0;
  {
    const auto worker = pool.checkout().value();
    first = worker->process_id();
    EXPECT_EQ(worker->call("twice").value(), "one");
  }
  {
    const auto worker = pool.checkout().value();
    EXPECT_NE(worker->process_id(), first);
    ASSERT_TRUE(worker->send("left behind"));
    ASSERT_TRUE(worker->flush());
    first = worker->process_id();
  }
  const auto worker = pool.checkout().value();
  EXPECT_NE(worker->process_id(), first);
  EXPECT_EQ(worker->call("mine").value(), "mine");
  EXPECT_EQ(pool.metrics().invalid, 2U);
}

TEST_F(Process, ACallThatTakesTooLongEndsTheProgram) {
  auto pool = pool_of(program(), workers(1));
  auto worker = pool.checkout().value();
  const Watched process(static_cast<pid_t>(worker->process_id()));
  EXPECT_EQ(worker->call("hang", 20ms).error().code, Errc::timed_out);
  EXPECT_TRUE(process.dies_within(kPatience));
  EXPECT_FALSE(worker.alive());
  worker.checkin();
  EXPECT_EQ(pool.checkout().value()->call("next").value(), "next");
}

// The limit also holds if the holder does not wait: its program is killed, and the holder is notified.
TEST_F(Process, TheHardLimitOfACallNeedsNobodyWhoWaits) {
  ProcessOptions options = program();
  options.limits.call_time = 300ms;
  auto pool = pool_of(options, workers(1));
  auto worker = pool.checkout().value();
  EXPECT_EQ(worker->call("quick").value(), "quick");
  std::atomic<bool> told = false;
  worker.on_death([&](const std::string& why) {
    EXPECT_EQ(why, "was killed: a call took longer than 300 ms");
    told = true;
  });
  ASSERT_TRUE(worker->send("hang"));
  ASSERT_TRUE(worker->flush());
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  const auto answer = worker->receive();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::timed_out);
}

TEST_F(Process, SoftLimitsWaitUntilTheWorkerIsFree) {
  ProcessOptions options = program();
  options.limits.calls = 3;
  options.limits.calls_jitter = 0;
  options.limits.memory_bytes = 64U << 20;
  auto pool = pool_of(options, workers(1));
  std::int64_t first = 0;
  {
    const auto worker = pool.checkout().value();
    first = worker->process_id();
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(worker->call("more"));  // three were allowed, but it is held
    EXPECT_EQ(worker->process_id(), first);
  }
  {
    const auto worker = pool.checkout().value();
    EXPECT_NE(worker->process_id(), first);
    EXPECT_EQ(pool.metrics().expired, 1U);
    first = worker->process_id();
    EXPECT_EQ(worker->call("eat 100000000").value(), "ok");
  }
  const Watched fat(static_cast<pid_t>(first));
  EXPECT_TRUE(fat.dies_within(kPatience));  // while nobody has it
  EXPECT_TRUE(eventually([&] { return pool.metrics().expired == 2; }));
  EXPECT_EQ(pool.metrics().deaths, 0U);
  EXPECT_EQ(pool.metrics().start_failures, 0U);
}

TEST_F(Process, HardLimitsKillAWorkerThatIsHeld) {
  ProcessOptions options = program();
  options.limits.memory_bytes_hard = 64U << 20;
  auto worker = started(options);
  const Watched fat(static_cast<pid_t>(worker->process_id()));
  (void)worker->call("eat 100000000");  // it may be dead before it has answered
  EXPECT_TRUE(fat.dies_within(kPatience));
  EXPECT_EQ(worker->call("more").error().code, Errc::worker_died);

  options = program();
  options.limits.age_hard = 30ms;
  worker = started(options);
  const Watched old(static_cast<pid_t>(worker->process_id()));
  EXPECT_TRUE(old.dies_within(kPatience));
}

TEST_F(Process, JitterLowersTheLimitAndNeverRaisesIt) {
  ProcessOptions options = program();
  options.limits.calls = 20;
  options.limits.calls_jitter = 0.9;
  auto pool = pool_of(options, workers(1));
  std::set<std::uint64_t> lives;
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t before = pool.metrics().expired;
    std::uint64_t calls = 0;
    while (pool.metrics().expired == before) {
      const auto worker = pool.checkout().value();
      ASSERT_TRUE(worker->call("x"));
      calls = worker->calls();
    }
    EXPECT_LE(calls, 20U);
    lives.insert(calls);
  }
  EXPECT_GT(lives.size(), 1U);
}

// Dying while free, in transit to an asynchronous request, and while held.
TEST_F(Process, DeathsAtAnyStep) {
  auto pool = pool_of(program(), workers(1));
  std::int64_t process = 0;
  {
    const auto worker = pool.checkout().value();
    process = worker->process_id();
  }
  const Watched free(static_cast<pid_t>(process));
  ::kill(static_cast<pid_t>(process), SIGKILL);
  ASSERT_TRUE(free.dies_within(kPatience));
  {
    auto worker = pool.checkout().value();
    EXPECT_NE(worker->process_id(), process);
    process = worker->process_id();
    ::kill(static_cast<pid_t>(process), SIGKILL);  // held
    const auto answer = worker->call("anybody?");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().context, "the program was killed by signal 9 (SIGKILL)");
  }
  std::atomic<int> offers = 0;
  auto request = pool.checkout_async([&](const CheckoutNews<ProcessWorker>& news) {
    if (news.kind() == CheckoutNewsKind::worker) ++offers;
  });
  ASSERT_TRUE(eventually([&] { return offers > 0; }));
  for (const pid_t guard : guard::children_of(getpid())) {
    for (const pid_t keeper : guard::children_of(guard)) {
      for (const pid_t each : guard::children_of(keeper)) ::kill(each, SIGKILL);  // in transit
    }
  }
  EXPECT_TRUE(eventually([&] { return pool.metrics().deaths + pool.metrics().invalid >= 3; }));
  Result<CheckoutLease<ProcessWorker>> worker = request.confirm();
  while (!worker) {
    EXPECT_TRUE(worker.error().code == Errc::worker_died || worker.error().code == Errc::busy);
    worker = request.confirm();
  }
  EXPECT_EQ((*worker)->call("alive").value(), "alive");
}

// SIGTERM is not enough, a daemon hides in a session of its own: both are gone when the pool is.
TEST_F(Process, StubbornProgramsAndTheirChildrenGoToo) {
  ProcessOptions options = program();
  options.stop_patience = 20ms;
  std::vector<std::unique_ptr<Watched>> all;
  {
    auto pool = pool_of(options, workers(3));
    std::vector<CheckoutLease<ProcessWorker>> leases;
    for (int i = 0; i < 3; ++i) leases.push_back(pool.checkout().value());
    for (auto& worker : leases) {
      all.push_back(std::make_unique<Watched>(std::stoi(worker->call("grandchild").value())));
      all.push_back(std::make_unique<Watched>(std::stoi(worker->call("pid").value())));
      EXPECT_TRUE(worker->call("stubborn"));
    }
  }
  for (const auto& each : all) EXPECT_TRUE(each->dies_within(0s));
}

// Twelve that have to be killed take as long as one, not twelve times as long.
TEST_F(Process, StubbornProgramsDoNotWaitForEachOther) {
  ProcessOptions options = program();
  options.stop_patience = 1s;
  auto pool = pool_of(options, workers(12));
  {
    std::vector<CheckoutLease<ProcessWorker>> leases;
    for (int i = 0; i < 12; ++i) leases.push_back(pool.checkout().value());
    for (auto& worker : leases) EXPECT_TRUE(worker->call("deaf"));
  }
  const auto begun = std::chrono::steady_clock::now();
  pool.close();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 8s);
}

TEST_F(Process, AKilledGuardIsReplaced) {
  auto pool = pool_of(program(), workers(2));
  const auto worker = pool.checkout().value();
  const Watched process(static_cast<pid_t>(worker->process_id()));
  const auto guards = guard::children_of(getpid());
  ASSERT_EQ(guards.size(), 1U);
  ::kill(guards[0], SIGKILL);
  EXPECT_EQ(worker->call("hang").error().code, Errc::worker_died);
  EXPECT_TRUE(process.dies_within(kPatience));
  EXPECT_EQ(pool.checkout(kPatience).value()->call("again").value(), "again");
}

// The examples are a few lines in another language each.
TEST_F(Process, ProgramsInPythonAndNode) {
  for (const std::string name : {"python_worker.py", "node_worker.js"}) {
    const bool node = name == "node_worker.js";
    if (node && std::system("node --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "node is not installed";
    ProcessOptions options;
    options.command = {std::string(TENURE_WORKERS) + "/" + name};
    options.says_ready = true;
    options.start_timeout = kPatience;
    const auto worker = started(options);
    ASSERT_TRUE(worker);
    EXPECT_EQ(worker->call("6 * 7").value(), "42");
    EXPECT_EQ(worker->call(node ? "nothing" : "1 / 0").error().context,
              node ? "ReferenceError: nothing is not defined" : "ZeroDivisionError: division by zero");
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(worker->send(std::to_string(i) + " + 1"));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(worker->receive()->bytes, std::to_string(i + 1));
  }
}

TEST_F(Process, AMissingGuardIsSaid) {
  setenv("TENURE_GUARD", "/nowhere/guard", 1);
  // This process has read the variable already: a process of its own has not.
  std::fflush(nullptr);
  const pid_t process = fork();
  if (process == 0) {
    execl("/proc/self/exe", "process_test", "--gtest_also_run_disabled_tests",
          "--gtest_filter=ProcessParent.DISABLED_WithoutGuard", nullptr);
    _exit(127);
  }
  setenv("TENURE_GUARD", TENURE_GUARD, 1);
  int status = -1;
  waitpid(process, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(ProcessParent, DISABLED_WithoutGuard) {
  const auto worker = ProcessWorker::start(program());
  ASSERT_FALSE(worker);
  EXPECT_NE(worker.error().message().find("/nowhere/guard"), std::string::npos) << worker.error().message();
}

// Run by the next test in a process of its own: says who its children are, and stays.
TEST(ProcessParent, DISABLED_Stays) {
  auto pool = pool_of(program(), workers(1));
  const auto worker = pool.checkout().value();
  std::cout << "\npids " << worker->call("pid").value() << ' ' << worker->call("grandchild").value() << std::endl;
  (void)worker->call("stubborn");
  for (;;) pause();
}

// kill -9 of the parent: the program and what it started die, although nobody is left to tell them.
TEST_F(Process, NothingOutlivesAParentThatIsKilled) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl("/proc/self/exe", "process_test", "--gtest_also_run_disabled_tests",
          "--gtest_filter=ProcessParent.DISABLED_Stays", nullptr);
    _exit(127);
  }
  ::close(ends[1]);
  FILE* said = fdopen(ends[0], "r");
  std::array<char, 256> line{};
  int program_id = 0;
  int grandchild = 0;
  while (std::fgets(line.data(), line.size(), said) != nullptr) {
    if (std::sscanf(line.data(), "pids %d %d", &program_id, &grandchild) == 2) break;
  }
  ASSERT_GT(grandchild, 0);
  const Watched first(program_id);
  const Watched second(grandchild);
  ::kill(parent, SIGKILL);
  int status = 0;
  waitpid(parent, &status, 0);
  std::fclose(said);
  EXPECT_TRUE(first.dies_within(kPatience));
  EXPECT_TRUE(second.dies_within(kPatience));
}

}  // namespace
}  // namespace tenure
