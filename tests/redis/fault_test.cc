// Servers that die, freeze, are full, lose data, or come back with less of it.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <thread>

#include "base/entropy.h"
#include "redis/place.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> kDurable = {"--appendonly", "yes", "--appendfsync", "always"};

std::chrono::nanoseconds span_of(const std::function<void()>& act) {
  const auto started = std::chrono::steady_clock::now();
  act();
  return std::chrono::steady_clock::now() - started;
}

TEST(RedisFaults, NoServerIsUnavailableAtOnce) {
  const std::string url = "redis://127.0.0.1:" + std::to_string(free_port());
  Errc code{};
  EXPECT_LT(span_of([&] { code = code_of(try_open(url)); }), 1s);
  EXPECT_EQ(code, Errc::unavailable);
  EXPECT_EQ(code_of(try_open("unix:/nonexistent/redis.sock")), Errc::unavailable);
}

// Reader and appender continue where they were.
TEST(RedisFaults, ADurableServerThatIsKilledAndComesBackHasLostNothing) {
  RedisServer server(kDurable);
  const auto log = open_at(server.url());
  Entry last = put(*log, "before");
  Answer<Result<std::vector<Entry>>> waiting;
  log->read(Cursor::at(last), waiting.callback());
  server.kill();
  EXPECT_EQ(code_of(waiting.get()), Errc::unavailable);
  EXPECT_EQ(code_of(read(*log, Cursor::at(last))), Errc::unavailable);
  server.restart();
  const auto position = insist_append(*log, "after");
  ASSERT_TRUE(position) << position.error().message();
  const auto run = insist_read(*log, Cursor::at(last));
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->front().data, "after");
}

TEST(RedisFaults, AServerThatKeptNothingHasLostHistory) {
  RedisServer server;
  const auto reader = open_at(server.url());
  const auto writer = open_at(server.url());
  const Entry last = put(*reader, "before");
  ASSERT_TRUE(append(*writer, "unread"));
  server.kill();
  server.restart();
  EXPECT_EQ(code_of(insist_read(*reader, Cursor::at(last))), Errc::lost_history);
  EXPECT_EQ(code_of(append(*reader, "too early")), Errc::lost_history);
  EXPECT_EQ(code_of(insist_append(*writer, "too early")), Errc::lost_history);
  ASSERT_TRUE(load_snapshot(*reader));
  ASSERT_TRUE(append(*reader, "anew"));
}

// The one connection that both wait for is about to prove what is gone.
TEST(RedisFaults, LoadingIsNeverToldThatHistoryIsLost) {
  RedisServer server;
  const auto log = open_at(server.url());
  ASSERT_TRUE(append(*log, "before"));
  server.kill();
  server.restart();
  Result<Position> answer = fail(Errc::unknown, "", "");
  Result<Snapshot> snapshot = fail(Errc::unavailable, "", "");
  for (Errc code = Errc::unknown; code == Errc::unknown || code == Errc::unavailable; code = code_of(answer)) {
    Answer<Result<Position>> append_answer;
    Answer<Result<Snapshot>> load_answer;
    log->append(Lane::data, "too early", append_answer.callback());
    log->load_snapshot(load_answer.callback());
    answer = append_answer.get();
    snapshot = load_answer.get();
    ASSERT_TRUE(snapshot || snapshot.error().code == Errc::unavailable) << snapshot.error().message();
  }
  EXPECT_EQ(code_of(answer), Errc::lost_history);
  ASSERT_TRUE(insist([&] { return load_snapshot(*log); }));
  EXPECT_TRUE(append(*log, "anew"));
}

// An entry that only the master has may be lost with it, so nobody gets it: neither by an answer nor by a read.
TEST(RedisFaults, WithWaitReplicasNothingIsReadThatNoReplicaHas) {
  const RedisServer master({"--repl-diskless-sync-delay", "0"});
  const RedisServer replica({"--replicaof", "127.0.0.1", std::to_string(master.port())});
  const auto careful = open_at(master.url() + "?wait_replicas=1&timeout=300");
  const auto careless = open_at(master.url());
  const auto first = insist_append(*careful, "first");
  ASSERT_TRUE(first) << first.error().message();
  Cursor cursor;
  const auto known = read_on(*careful, cursor, 1);
  ASSERT_TRUE(known) << known.error().message();
  replica.signal(SIGSTOP);
  master.command({"CLIENT", "KILL", "TYPE", "replica"});
  ASSERT_TRUE(append(*careless, "the master's own"));
  Answer<Result<std::vector<Entry>>> waiting;
  careful->read(cursor, waiting.callback());
  EXPECT_FALSE(waiting.ready_within(500ms));
  replica.signal(SIGCONT);
  auto run = waiting.get();
  if (!run) run = insist_read(*careful, cursor);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->front().data, "the master's own");
}

// What was acknowledged before the kill is there afterwards, at its place.
TEST(RedisFaults, WithAppendfsyncAlwaysAcknowledgedEntriesSurviveKillingTheServer) {
  const std::uint64_t seed = SystemEntropy().next();
  SCOPED_TRACE("seed " + std::to_string(seed));
  SeededEntropy entropy(seed);
  RedisServer server(kDurable);
  std::map<Position, std::string> acknowledged;
  const auto log = open_at(server.url());
  for (int round = 0; round < 3; ++round) {
    std::vector<Answer<Result<Position>>> answers(400);
    const std::uint64_t kill_after = entropy.below(answers.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      log->append(Lane::data, std::to_string(round) + "-" + std::to_string(i), answers[i].callback());
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (i == kill_after) server.kill();
      const auto position = answers[i].get();
      if (position) acknowledged[*position] = std::to_string(round) + "-" + std::to_string(i);
    }
    server.restart();
    ASSERT_TRUE(insist_append(*log, "end of round"));
  }
  std::map<Position, std::string> found;
  for (Cursor cursor; found.empty() || found.rbegin()->first < acknowledged.rbegin()->first;) {
    const auto run = insist_read(*log, cursor);
    ASSERT_TRUE(run) << run.error().message();
    for (const Entry& entry : *run) found[entry.position] = entry.data;
    cursor = Cursor::at(run->back());
  }
  for (const auto& [position, data] : acknowledged) EXPECT_EQ(found[position], data);
}

// A crash cuts the append-only file anywhere. Redis drops what is not whole, takes new entries, and reads the file
// again after the next crash; what it dropped must not come back then.
TEST(RedisFaults, AnAppendOnlyFileThatWasCutAnywhereIsAWholeLog) {
  for (const std::uintmax_t cut : {1U, 12U, 30U, 60U, 100U, 150U, 250U}) {
    SCOPED_TRACE("cut " + std::to_string(cut));
    RedisServer server(kDurable);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(append(*open_at(server.url()), "before"));
    server.kill();
    for (const auto& file : std::filesystem::directory_iterator(server.directory() + "/appendonlydir")) {
      if (file.path().string().ends_with("incr.aof")) {
        std::filesystem::resize_file(file.path(), file.file_size() - cut);
      }
    }
    server.restart();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(append(*open_at(server.url()), "after"));
    server.kill();
    server.restart();
    const auto log = open_at(server.url());
    const auto last = append(*log, "last");
    ASSERT_TRUE(last) << last.error().message();
    int after = 0;
    Entry entry;
    while (entry.position < *last) {
      const auto run = read(*log, entry.position == 0 ? Cursor() : Cursor::at(entry));
      ASSERT_TRUE(run) << run.error().message();
      for (const Entry& one : *run) after += one.data == "after" ? 1 : 0;
      entry = run->back();
    }
    EXPECT_EQ(entry.data, "last");
    EXPECT_EQ(after, 3);
  }
}

// Frozen, the server owes answers: they are in doubt, and closing waits for none of them.
TEST(RedisFaults, AFrozenServerLeavesAppendsInDoubtAndClosingPrompt) {
  const RedisServer server;
  const auto log = open_at(server.url() + "?timeout=200");
  const Entry last = put(*log, "before");
  ASSERT_TRUE(append(*log, "beat", Lane::beat));
  server.signal(SIGSTOP);
  EXPECT_EQ(code_of(try_open(server.url() + "?timeout=200")), Errc::unavailable);
  EXPECT_EQ(code_of(append(*log, "x")), Errc::unknown);
  EXPECT_EQ(code_of(append(*log, "x", Lane::beat)), Errc::unknown);
  EXPECT_EQ(code_of(append(*log, "y")), Errc::unavailable);
  server.signal(SIGCONT);
  ASSERT_TRUE(insist_append(*log, "after"));
  ASSERT_TRUE(insist_read(*log, Cursor::at(last)));

  server.signal(SIGSTOP);
  Answer<Result<Position>> never;
  log->append(Lane::data, "z", never.callback());
  EXPECT_LT(span_of([&] { log->close(); }), 300ms);
  EXPECT_EQ(code_of(never.get()), Errc::closed);
  server.signal(SIGCONT);
}

TEST(RedisFaults, AFullServerRefusesWritesNothingAndRecovers) {
  const RedisServer server;
  const auto log = open_at(server.url());
  const Entry first = put(*log, "x");
  const std::string meta = server.command({"HGETALL", kMetaKey});
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  const auto refused = append(*log, "y");
  EXPECT_EQ(code_of(refused), Errc::full);
  EXPECT_NE(refused.error().message().find("maxmemory"), std::string::npos) << refused.error().message();
  EXPECT_EQ(code_of(store_snapshot(*log, Cursor::at(first), {"state"})), Errc::full);
  EXPECT_EQ(server.command({"HGETALL", kMetaKey}), meta);
  EXPECT_EQ(server.command({"XLEN", log_key(server)}), "1");
  server.command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(append(*log, "y"));
}

TEST(RedisFaults, AServerThatForgetsItsScriptsIsTaughtAgain) {
  const RedisServer server;
  const auto log = open_at(server.url());
  ASSERT_TRUE(append(*log, "x"));
  server.command({"SCRIPT", "FLUSH"});
  ASSERT_TRUE(insist_append(*log, "y"));
  Cursor cursor;
  ASSERT_TRUE(read_on(*log, cursor, 2));
}

TEST(RedisFaults, AMasterThatBecomesAReplicaIsUnavailableUntilItIsAMasterAgain) {
  const RedisServer server;
  const auto log = open_at(server.url());
  const Entry first = put(*log, "x");
  server.command({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_EQ(code_of(append(*log, "y")), Errc::unavailable);
  server.command({"REPLICAOF", "NO", "ONE"});
  ASSERT_TRUE(insist_append(*log, "y"));
  EXPECT_TRUE(insist_read(*log, Cursor::at(first)));
}

TEST(RedisFaults, WithoutEnoughReplicasAnAppendIsInDoubt) {
  const RedisServer server;
  const auto log = open_at(server.url() + "?wait_replicas=1&timeout=100");
  const auto position = append(*log, "x");
  EXPECT_EQ(code_of(position), Errc::unknown);
  EXPECT_NE(position.error().message().find("wait_replicas"), std::string::npos) << position.error().message();
}

// Every connection is cut while an append is under way, again and again.
TEST(RedisFaults, CutConnectionsLoseNothingThatWasAcknowledged) {
  const RedisServer server;
  const auto log = open_at(server.url());
  std::map<Position, std::string> acknowledged;
  for (int i = 0; i < 60; ++i) {
    Answer<Result<Position>> answer;
    log->append(Lane::data, std::to_string(i), answer.callback());
    server.command({"CLIENT", "KILL", "TYPE", "normal"});
    auto position = answer.get();
    if (!position) position = insist_append(*log, std::to_string(i));
    ASSERT_TRUE(position) << position.error().message();
    acknowledged[*position] = std::to_string(i);
  }
  std::map<Position, std::string> found;
  for (Cursor cursor; cursor.position < acknowledged.rbegin()->first;) {
    const auto run = insist_read(*log, cursor);
    ASSERT_TRUE(run) << run.error().message();
    for (const Entry& entry : *run) EXPECT_TRUE(found.emplace(entry.position, entry.data).second);
    cursor = Cursor::at(run->back());
  }
  for (const auto& [position, data] : acknowledged) EXPECT_EQ(found[position], data);
}

}  // namespace
}  // namespace tenure::conformance
