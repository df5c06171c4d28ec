// The simulated log keeps the port's contract with and without faults. tests/log_conformance tests the same for every
// engine; these tests need faults that only a simulated log has.

#include "sim/world/sim_log.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sim/world/sim_clock.h"

namespace tenure::sim {
namespace {

using namespace std::chrono_literals;

struct Bench {
  explicit Bench(std::uint64_t seed, WireOptions wire_options = {}, ServerOptions server_options = {})
      : world(seed), server(world, server_options), wires(world, server, wire_options) {}

  struct Client {
    Process* process;
    Link link;
    std::unique_ptr<Log> log;
    std::vector<Entry> seen;
    std::optional<Errc> stopped;
    Cursor cursor;
  };

  Client& client() {
    clients.push_back(std::make_unique<Client>());
    Client& made = *clients.back();
    made.process = &world.start_process("client", clock);
    made.log = wires.connect(*made.process, made.link);
    return made;
  }

  // Reads on and on, over unavailable servers, until another error stops it.
  void follow(Client& client) {
    client.log->read(client.cursor, [this, &client](Result<std::vector<Entry>> got) {
      if (!got && got.error().code != Errc::unavailable) {
        client.stopped = got.error().code;
        return;
      }
      if (got) {
        for (Entry& entry : *got) {
          client.cursor = Cursor::at(entry);
          client.seen.push_back(std::move(entry));
        }
      }
      follow(client);
    });
  }

  World world;
  SimClock clock{world, 1s, 0, 0};
  LogServer server;
  Wires wires;
  std::vector<std::unique_ptr<Client>> clients;
};

TEST(SimLog, AppendsAreReadInOrderByAll) {
  for (const Numbering numbering : {Numbering::dense, Numbering::sparse, Numbering::timed}) {
    Bench bench(5, {.split_reads = 0.5}, {.numbering = numbering});
    auto& a = bench.client();
    auto& b = bench.client();
    bench.follow(a);
    bench.follow(b);
    int answered = 0;
    bool inside = true;
    for (int i = 0; i < 100; ++i) {
      a.log->append(i % 2 == 0 ? Lane::data : Lane::beat, std::to_string(i), [&](const Result<Position>& position) {
        EXPECT_FALSE(inside);
        EXPECT_TRUE(position.has_value());
        ++answered;
      });
    }
    inside = false;
    bench.world.run_until(kSecond);
    EXPECT_EQ(answered, 100);
    ASSERT_EQ(a.seen.size(), 100U);
    ASSERT_EQ(b.seen.size(), 100U);
    for (std::size_t i = 0; i < 100; ++i) {
      EXPECT_EQ(a.seen[i].position, b.seen[i].position);
      EXPECT_EQ(a.seen[i].data, b.seen[i].data);
      if (i == 0) continue;
      EXPECT_LT(a.seen[i - 1].position, a.seen[i].position);
      EXPECT_LE(a.seen[i - 1].time_ms, a.seen[i].time_ms);
    }
  }
}

// Under all faults of the wires: what was acknowledged is there, what was refused as unavailable is not, and each
// callback runs once.
TEST(SimLog, TellsTheTruthUnderFaults) {
  std::map<Errc, int> errors;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Bench bench(seed, {.timeout = 500 * kMilli,
                       .request_lost = 0.05,
                       .answer_lost = 0.05,
                       .held = 0.05,
                       .duplicated = 0.05,
                       .split_reads = 0.3});
    auto& reader = bench.client();
    auto& writer = bench.client();
    bench.follow(reader);
    std::map<std::string, Result<Position>> answers;
    for (int i = 0; i < 200; ++i) {
      bench.world.at(i * (20 * kMilli), [&, i] {
        const std::string data = std::to_string(i);
        writer.log->append(Lane::data, data, [&, data](Result<Position> position) {
          EXPECT_TRUE(answers.emplace(data, std::move(position)).second);
        });
      });
    }
    bench.world.at(kSecond, [&] { bench.wires.outage(300 * kMilli); });
    bench.world.at(2 * kSecond, [&] { writer.link.to_server_cut = true; });
    bench.world.at(3 * kSecond, [&] { bench.wires.heal(writer.link); });
    bench.world.run_until(30 * kSecond);
    EXPECT_EQ(answers.size(), 200U);
    std::multiset<std::string> there;
    for (const Entry& entry : reader.seen) there.insert(entry.data);
    for (const auto& [data, answer] : answers) {
      if (answer) {
        EXPECT_TRUE(there.contains(data));
      } else {
        ++errors[answer.error().code];
        if (answer.error().code == Errc::unavailable) {
          EXPECT_FALSE(there.contains(data));
        }
      }
    }
  }
  EXPECT_GT(errors[Errc::unknown], 100);
  EXPECT_GT(errors[Errc::unavailable], 100);
}

TEST(SimLog, ClosedLogCallsNobodyButItsRequestsMayArrive) {
  Bench bench(9);
  auto& a = bench.client();
  int called = 0;
  a.log->append(Lane::data, "x", [&](const Result<Position>&) { ++called; });
  a.log->read({}, [&](const Result<std::vector<Entry>>&) { ++called; });
  a.log->load_snapshot([&](const Result<Snapshot>&) { ++called; });
  auto writer = a.log->begin_snapshot({});
  a.log->close();
  writer->commit([&](const Status&) { ++called; });
  bench.world.run_until(kSecond);
  EXPECT_EQ(called, 0);
  EXPECT_EQ(bench.server.history().size(), 1U);
}

TEST(SimLog, SnapshotAndTrim) {
  Bench bench(9);
  auto& a = bench.client();
  for (int i = 0; i < 10; ++i) a.log->append(Lane::data, std::to_string(i), [](const Result<Position>&) {});
  bench.follow(a);
  bench.world.run_until(kSecond);
  ASSERT_EQ(a.seen.size(), 10U);
  a.log->trim(a.seen[8].position, [](const Status& status) { EXPECT_TRUE(status.has_value()); });
  bench.world.run_until(2 * kSecond);
  EXPECT_EQ(bench.server.kept_entries(), 10U) << "without a snapshot nothing may go";

  auto writer = a.log->begin_snapshot(Cursor::at(a.seen[5]));
  writer->add("one");
  writer->add("two");
  writer->commit([](const Status& status) { EXPECT_TRUE(status.has_value()); });
  bench.world.run_until(3 * kSecond);
  a.log->trim(a.seen[8].position, [](const Status&) {});
  bench.world.run_until(4 * kSecond);
  EXPECT_EQ(bench.server.kept_entries(), 5U) << "the snapshot's own entry stays";

  auto& b = bench.client();
  bench.follow(b);
  Snapshot loaded;
  b.log->load_snapshot([&](Result<Snapshot> snapshot) { loaded = std::move(*snapshot); });
  bench.world.run_until(5 * kSecond);
  EXPECT_EQ(b.stopped, Errc::trimmed);
  EXPECT_EQ(loaded.cursor, Cursor::at(a.seen[5]));
  EXPECT_EQ(loaded.chunks, (std::vector<Bytes>{"one", "two"}));
  b.cursor = loaded.cursor;
  bench.follow(b);
  bench.world.run_until(6 * kSecond);
  EXPECT_EQ(b.seen.size(), 4U);
}

// A failover that loses the tail also loses the snapshot and the trim based on it. A reader of the tail gets an error,
// a reader behind it continues, and a snapshot of the lost history is refused.
TEST(SimLog, LostTailIsNoticedByContent) {
  Bench bench(9);
  auto& ahead = bench.client();
  bench.follow(ahead);
  for (int i = 0; i < 10; ++i) {
    bench.world.at(i * kSecond, [&, i] { ahead.log->append(Lane::data, std::to_string(i), [](const auto&) {}); });
  }
  bench.world.run_until(10 * kSecond);
  const Cursor kept = Cursor::at(ahead.seen[5]);
  auto late_writer = ahead.log->begin_snapshot(ahead.cursor);
  auto writer = ahead.log->begin_snapshot(ahead.cursor);
  writer->commit([](const Status& status) { EXPECT_TRUE(status.has_value()); });
  bench.world.run_until(11 * kSecond);
  ahead.log->trim(ahead.cursor.position, [](const Status&) {});
  bench.world.run_until(12 * kSecond);
  EXPECT_EQ(bench.server.kept_entries(), 1U);

  EXPECT_EQ(bench.server.lose_since(5 * kSecond + 500 * kMilli, -2000), 4U);
  bench.server.append("junk");
  bench.wires.poke();
  EXPECT_EQ(bench.server.kept_entries(), 7U);
  auto& behind = bench.client();
  behind.cursor = kept;
  bench.follow(behind);
  std::optional<Errc> refused;
  late_writer->commit([&](const Status& status) { refused = status.error().code; });
  bench.world.run_until(13 * kSecond);
  EXPECT_EQ(ahead.stopped, Errc::lost_history);
  // After the error the handle appends nothing until it starts over.
  std::optional<Errc> append_refused;
  ahead.log->append(Lane::data, "late", [&](const Result<Position>& answer) { append_refused = answer.error().code; });
  bench.world.run_until(14 * kSecond);
  EXPECT_EQ(append_refused, Errc::lost_history);
  bool appended = false;
  ahead.log->load_snapshot([](const Result<Snapshot>&) {});
  bench.world.run_until(14 * kSecond + 500 * kMilli);
  ahead.log->append(Lane::data, "anew", [&](const Result<Position>& answer) { appended = answer.has_value(); });
  bench.world.run_until(15 * kSecond);
  EXPECT_TRUE(appended);
  EXPECT_EQ(refused, Errc::lost_history);
  ASSERT_EQ(behind.seen.size(), 2U);
  EXPECT_EQ(behind.seen[0].data, "junk");
  EXPECT_EQ(behind.seen[1].data, "anew");
  EXPECT_GE(behind.seen[0].time_ms, ahead.seen[5].time_ms);
  EXPECT_TRUE(bench.server.snapshot()->chunks.empty());
}

TEST(SimLog, CrashedProcessHearsNothing) {
  Bench bench(9);
  auto& a = bench.client();
  int called = 0;
  a.log->append(Lane::data, "x", [&](const Result<Position>&) { ++called; });
  a.process->crash();
  a.log->append(Lane::data, "y", [&](const Result<Position>&) { ++called; });
  bench.world.run_until(kSecond);
  EXPECT_EQ(called, 0);
  ASSERT_EQ(bench.server.history().size(), 1U);
  EXPECT_EQ(bench.server.history()[0].entry.data, "x");
}

}  // namespace
}  // namespace tenure::sim
