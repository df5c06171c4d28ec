// Whole worker processes on an embedded log: killed, frozen, and without their guard. No program outlives its tenure,
// and nobody waits for a death that can be detected at once.

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <map>

#include "base/thread_loop.h"
#include "guard/process.h"
#include "log/open.h"
#include "log_conformance/child.h"
#include "log_conformance/temporary_directory.h"
#include "node/client/client.h"
#include "node/heart.h"
#include "node/node.h"

namespace tenure::exec {
namespace {

using namespace std::chrono_literals;

// Ignores SIGTERM, and has a child that hides.
constexpr const char* kStubborn =
    "trap '' TERM; (setsid sh -c 'echo hidden $$; exec sleep 1000' &); echo pid $$; exec sleep 1000";

class Dispatcher final : private ClientEvents {
 public:
  explicit Dispatcher(const std::string& url) : log_(*open_log(url, {})), loop_("client") {
    loop_.run(
        [&] { client_ = std::make_unique<Client>(*log_, loop_, clock_, entropy_, static_cast<ClientEvents&>(*this)); });
  }
  ~Dispatcher() override {
    log_->close();
    loop_.run([&] { client_.reset(); });
  }
  void dispatch(const Bytes& key) {
    loop_.run([&] { ASSERT_TRUE(client_->ask({.key = key})); });
  }

 private:
  void settled(const Settlement& /*settlement*/) override {}
  void ticket_lost(std::uint64_t /*ticket*/) override {}
  void broken(const Error& error) override { ADD_FAILURE() << error.message(); }

  BootClock clock_;
  SystemEntropy entropy_;
  std::unique_ptr<Log> log_;
  ThreadLoop loop_;
  std::unique_ptr<Client> client_;
};

class WorkerTest : public testing::Test {
 protected:
  std::unique_ptr<conformance::Child> worker(const std::string& name, Nanos lease, const std::string& deaths,
                                             const std::string& script = kStubborn) const {
    return std::make_unique<conformance::Child>(
        EXEC_WORKER, std::vector<std::string>{url(), name, std::to_string(to_ms(lease)), deaths, TENURE_GUARD, work(),
                                              "sh", "-c", script});
  }
  // The rest of the first new line that starts with `begins`; skips other lines. Keeps "until".
  std::string line(conformance::Child& child, const std::string& begins) {
    std::vector<std::string>& passed = passed_[&child];
    const Instant deadline = BootClock().now() + guard::kDeadline;
    for (std::size_t at = 0;; ++at) {
      if (at == passed.size()) {
        auto next = child.line();
        if (!next || BootClock().now() > deadline) break;
        pass(*std::move(next), passed);
      }
      if (!passed[at].starts_with(begins)) continue;
      const std::string rest = passed[at].substr(begins.size());
      passed.erase(passed.begin() + static_cast<std::ptrdiff_t>(at));
      return rest;
    }
    ADD_FAILURE() << "no line '" << begins << "'";
    return "0";
  }
  // What a child that is frozen by now has said before.
  void take_lines(conformance::Child& child) {
    while (auto next = child.line_at_hand()) pass(*std::move(next), passed_[&child]);
  }
  void pass(std::string line, std::vector<std::string>& passed) {
    if (line.starts_with("until ")) until_ = Instant{Nanos(std::stoll(line.substr(6)))};
    passed.push_back(std::move(line));
  }
  std::string url() const { return "sqlite:" + folder_.path() + "/pool.db?sync=off"; }
  std::string work() const { return folder_.path() + "/work"; }
  void SetUp() override { std::filesystem::create_directory(work()); }

  conformance::TemporaryDirectory folder_;
  std::map<const conformance::Child*, std::vector<std::string>> passed_;
  Instant until_;
};

TEST_F(WorkerTest, KilledOneIsTakenOverAtOnceAndItsProgramsAreGone) {
  const auto first = worker("w1", 10s, "known-death");
  line(*first, "joined");
  Dispatcher dispatcher(url());
  dispatcher.dispatch("key");
  const guard::Watched hidden(std::stoi(line(*first, "log key hidden ")));
  const guard::Watched program(std::stoi(line(*first, "log key pid ")));
  // Stands by. Should the key be meant to move to it, the program, which ignores SIGTERM, is in no hurry.
  const auto second = worker("w0", 10s, "known-death");
  line(*second, "joined");

  const Instant killed = BootClock().now();
  first->signal(SIGKILL);
  EXPECT_TRUE(program.dies_within(guard::kDeadline));
  EXPECT_TRUE(hidden.dies_within(guard::kDeadline));
  const Nanos dead = BootClock().now() - killed;
  line(*second, "log key pid ");
  const Nanos taken = BootClock().now() - killed;
  std::cout << "programs dead after " << to_ms(dead) << " ms, key taken over after " << to_ms(taken) << " ms\n";
  EXPECT_LT(taken, 5s);  // the lease is ten
}

// The guard alone makes it known, for pools whose log is on another host.
TEST_F(WorkerTest, GuardSaysTheEndInTheWorkersName) {
  const auto first = worker("w1", 10s, "known-death");
  const guard::Watched guard(std::stoi(line(*first, "guard ")));
  line(*first, "joined");
  Dispatcher dispatcher(url());
  dispatcher.dispatch("key");
  const guard::Watched program(std::stoi(line(*first, "log key pid ")));
  const Instant killed = BootClock().now();
  first->signal(SIGKILL);
  EXPECT_TRUE(program.dies_within(guard::kDeadline));
  EXPECT_TRUE(guard.dies_within(guard::kDeadline));
  EXPECT_TRUE(std::filesystem::is_empty(work()));  // the guard has cleared up
  // One that comes later, and goes by leases alone, finds the session ended.
  const auto second = worker("w2", 10s, "lease-only");
  line(*second, "log key pid ");
  EXPECT_LT(BootClock().now() - killed, 8s);
}

// Both are killed together: the lock falls when the last keeper has ended its tree.
TEST_F(WorkerTest, DeathOfWorkerAndGuardIsKnownByTheLock) {
  const auto first = worker("w1", 10s, "known-death");
  const guard::Watched guard(std::stoi(line(*first, "guard ")));
  line(*first, "joined");
  Dispatcher dispatcher(url());
  dispatcher.dispatch("key");
  const guard::Watched program(std::stoi(line(*first, "log key pid ")));
  ::kill(guard.pid(), SIGSTOP);  // so that it says nothing
  first->signal(SIGKILL);
  const Instant killed = BootClock().now();
  ::kill(guard.pid(), SIGKILL);
  const auto second = worker("w2", 10s, "known-death");
  line(*second, "log key pid ");
  EXPECT_LT(BootClock().now() - killed, 8s);
  EXPECT_TRUE(program.dies_within(0s));
}

TEST_F(WorkerTest, ProgramsOfAFrozenOneAreDeadBeforeItsLeaseEnds) {
  const Nanos lease = 1s;
  const auto frozen = worker("w1", lease, "known-death");
  line(*frozen, "joined");
  Dispatcher dispatcher(url());
  dispatcher.dispatch("key");
  const guard::Watched hidden(std::stoi(line(*frozen, "log key hidden ")));
  const guard::Watched program(std::stoi(line(*frozen, "log key pid ")));
  for (int beats = 0; beats < 3; ++beats) line(*frozen, "until ");
  frozen->signal(SIGSTOP);
  EXPECT_TRUE(program.dies_within(guard::kDeadline));
  EXPECT_TRUE(hidden.dies_within(guard::kDeadline));
  const Instant dead = BootClock().now();
  take_lines(*frozen);  // one more beat may have come before it was frozen
  // The heart's deadline lies a margin before the lease's end.
  const Nanos spare = until_ + LeaseTimes::of(lease).margin - dead;
  std::cout << "dead " << to_ms(spare) << " ms before the end of a lease of " << to_ms(lease) << " ms\n";
  EXPECT_GT(spare, 0ns);
  // It wakes up fenced, and starts over.
  frozen->signal(SIGCONT);
  line(*frozen, "fenced ");
  line(*frozen, "log key pid ");
}

TEST_F(WorkerTest, OneWithoutGuardFencesItselfAndBeginsAnew) {
  const auto robbed = worker("w1", 10s, "known-death");
  const guard::Watched guard(std::stoi(line(*robbed, "guard ")));
  line(*robbed, "joined");
  Dispatcher dispatcher(url());
  dispatcher.dispatch("key");
  const guard::Watched hidden(std::stoi(line(*robbed, "log key hidden ")));
  const guard::Watched program(std::stoi(line(*robbed, "log key pid ")));
  ::kill(guard.pid(), SIGKILL);
  EXPECT_EQ(line(*robbed, "fenced "), std::to_string(static_cast<int>(FenceReason::host_lost)));
  EXPECT_TRUE(program.dies_within(guard::kDeadline));
  EXPECT_TRUE(hidden.dies_within(guard::kDeadline));
  line(*robbed, "log key pid ");
}

}  // namespace
}  // namespace tenure::exec
