// A pool on real loops and the embedded engines. The simulator tests its promises under faults; this test shows that
// the same code works with production's threads.

#include <gtest/gtest.h>

#include <filesystem>

#include "node/live_node.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;

class LivePool : public testing::TestWithParam<const char*> {
 protected:
  LivePool() {
    static int count = 0;
    const std::string name = "live_pool_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
    folder_ = std::filesystem::temp_directory_path() / name;
    std::filesystem::create_directory(folder_);
    url_ = GetParam() == std::string("memory") ? "memory:" + name : "sqlite:" + (folder_ / "pool.db").string();
  }
  ~LivePool() override {
    EXPECT_EQ(journal_.problems, std::vector<std::string>());
    nodes_.clear();
    std::filesystem::remove_all(folder_);
  }

  // `speaks`: the machine version of its program.
  LiveNode& add(const std::string& name, Nanos lease = 1s, const Takes& takes = {},
                std::uint32_t speaks = kMachineVersion) {
    NodeOptions options;
    options.lease = lease;
    options.speaks = speaks;
    options.config.backoff_base_ms = 1;
    options.config.max_attempts = 3;
    nodes_[name] = std::make_unique<LiveNode>(name, url_, journal_, options);
    nodes_[name]->with(
        [&](Node& node) { node.add_worker({.id = "w-" + name, .replaces = {}, .serves = {}, .takes = takes}); });
    EXPECT_TRUE(journal_.wait([&](const Journal& journal) { return journal.members.contains(name); }));
    return *nodes_[name];
  }

  bool reached(std::uint64_t ticket, TicketState state) {
    return journal_.wait([&](const Journal& journal) {
      const auto found = journal.tickets.find(ticket);
      return found != journal.tickets.end() && !found->second.empty() && found->second.back() == state;
    });
  }

  std::filesystem::path folder_;
  std::string url_;
  Journal journal_;
  std::map<std::string, std::unique_ptr<LiveNode>> nodes_;
};

// A member's worker may come to the log after the first jobs; then some of them move.
bool shared_by_both(const Journal& journal) {
  const auto of_b = [](const auto& entry) { return entry.second == "b"; };
  return journal.holder.size() == 64 && std::any_of(journal.holder.begin(), journal.holder.end(), of_b);
}

// A task is accepted, done, and its result reaches the dispatcher; a failing one is tried again and then given up.
TEST_P(LivePool, RunsTasks) {
  LiveNode& a = add("a");
  const std::uint64_t good = a.dispatch("k", JobKind::task, "x");
  EXPECT_TRUE(reached(good, TicketState::done));
  EXPECT_EQ(journal_.texts[good], "done by a");
  const std::uint64_t bad = a.dispatch("k", JobKind::task, "fail");
  EXPECT_TRUE(reached(bad, TicketState::failed));
  EXPECT_EQ(journal_.texts[bad], "it failed");
}

// A pool with members of version 1 would give any job to a worker that takes tasks only. So its node keeps the worker
// back until they have left and the pool has switched.
TEST_P(LivePool, AWorkerThatDoesNotTakeEveryJobWaitsForOlderMembersToLeave) {
  Takes tasks = Takes::nothing();
  tasks.add_all(JobKind::task);
  LiveNode& older = add("older", 1s, {}, 1);
  EXPECT_TRUE(reached(older.dispatch("r", JobKind::resident), TicketState::started));
  LiveNode& newer = add("newer", 1s, tasks);
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t task = newer.dispatch("k" + std::to_string(i), JobKind::task);
    EXPECT_TRUE(reached(task, TicketState::done));
    EXPECT_EQ(journal_.texts[task], "done by older");
  }
  older.with([](Node& node) { node.close(); });
  EXPECT_TRUE(journal_.wait([](const Journal& journal) { return journal.closed.contains("older"); }));
  const std::uint64_t task = newer.dispatch("k", JobKind::task);
  EXPECT_TRUE(reached(task, TicketState::done));
  EXPECT_EQ(journal_.texts[task], "done by newer");
  newer.with([](Node& node) {
    EXPECT_EQ(node.machine().version(), kMachineVersion);
    EXPECT_EQ(node.machine().find("r")->state, JobState::queued);
  });
}

// Keys spread over the nodes, a second dispatch of one is refused, and each is stopped where it runs.
TEST_P(LivePool, HoldsResidentKeysOnce) {
  LiveNode& a = add("a");
  add("b");
  constexpr int kHeld = 64;
  std::vector<std::uint64_t> tickets;
  tickets.reserve(kHeld);
  for (int i = 0; i < kHeld; ++i) tickets.push_back(a.dispatch("key-" + std::to_string(i), JobKind::resident));
  for (const std::uint64_t ticket : tickets) EXPECT_TRUE(reached(ticket, TicketState::started));
  const std::uint64_t again = nodes_["b"]->dispatch("key-3", JobKind::resident);
  EXPECT_TRUE(reached(again, TicketState::refused));
  EXPECT_EQ(journal_.refusals[again], Errc::key_exists);

  std::uint64_t stop = 0;
  nodes_["b"]->with([&](Node& node) { stop = *node.ask({.kind = Request::Kind::stop, .key = "key-3"}); });
  EXPECT_TRUE(reached(stop, TicketState::stopped));
  EXPECT_TRUE(reached(tickets[3], TicketState::stopped));
}

// A node that closes hands everything over, with what its handlers left for the next holder.
TEST_P(LivePool, ClosingHandsOver) {
  LiveNode& a = add("a");
  add("b");
  for (int i = 0; i < 64; ++i) a.dispatch("key-" + std::to_string(i), JobKind::resident);
  ASSERT_TRUE(journal_.wait(shared_by_both));
  nodes_["b"]->with([](Node& node) { node.close(); });
  ASSERT_TRUE(journal_.wait([](const Journal& journal) { return journal.closed.contains("b"); }));
  ASSERT_TRUE(journal_.wait([](const Journal& journal) {
    return journal.holder.size() == 64 && std::all_of(journal.holder.begin(), journal.holder.end(),
                                                      [](const auto& entry) { return entry.second == "a"; });
  }));
  EXPECT_TRUE(journal_.wait([](const Journal& journal) {
    return std::any_of(journal.checkpoint.begin(), journal.checkpoint.end(),
                       [](const auto& entry) { return entry.second == "from b"; });
  }));
}

// A node that dies without a word is found out after its lease, and its keys start elsewhere.
TEST_P(LivePool, TakesOverFromTheDead) {
  LiveNode& a = add("a");
  add("b");
  for (int i = 0; i < 64; ++i) a.dispatch("key-" + std::to_string(i), JobKind::resident);
  ASSERT_TRUE(journal_.wait(shared_by_both));
  nodes_["b"]->crash();
  EXPECT_TRUE(journal_.wait([](const Journal& journal) { return journal.holder.size() == 64; }));
}

// A message reaches the holder, wherever it runs.
TEST_P(LivePool, MessagesReachTheHolder) {
  LiveNode& a = add("a");
  LiveNode& b = add("b");
  const std::uint64_t ticket = a.dispatch("k", JobKind::resident);
  ASSERT_TRUE(reached(ticket, TicketState::started));
  b.with([](Node& node) { EXPECT_TRUE(node.ask({.kind = Request::Kind::notify, .key = "k", .text = "hello"})); });
  EXPECT_TRUE(journal_.wait([](const Journal& journal) { return journal.messages.contains("k"); }));
}

// The pool ends: jobs are stopped, members leave, and what comes after starts from nothing.
TEST_P(LivePool, ShutsDown) {
  LiveNode& a = add("a");
  add("b");
  for (int i = 0; i < 16; ++i) a.dispatch("key-" + std::to_string(i), JobKind::resident);
  ASSERT_TRUE(journal_.wait([](const Journal& journal) { return journal.holder.size() == 16; }));
  a.with([](Node& node) { node.shut_down(); });
  ASSERT_TRUE(journal_.wait([](const Journal& journal) { return journal.closed.size() == 2; }));
  EXPECT_TRUE(journal_.holder.empty());
  nodes_.clear();
  journal_.members.clear();
  // Epochs start with the engine's time: a pool that is created again in the same millisecond may repeat them.
  const auto gone = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - gone < 2ms) std::this_thread::yield();
  LiveNode& c = add("c");
  EXPECT_TRUE(reached(c.dispatch("key-1", JobKind::task), TicketState::done));
}

INSTANTIATE_TEST_SUITE_P(Engines, LivePool, testing::Values("memory", "sqlite"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace tenure
