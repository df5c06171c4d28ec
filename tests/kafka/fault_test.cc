// Brokers that die, freeze, lose data, or come back with less of it. Each test has its own.

#include <sys/resource.h>

#include <filesystem>

#include "kafka/server.h"
#include "log_conformance/free_port.h"
#include "log_conformance/insist.h"
#include "log_conformance/member.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

// A broker that was killed is let in again when its session has ended.
const std::vector<std::string> kSoonBack = {"broker.session.timeout.ms=1000", "broker.heartbeat.interval.ms=200"};

std::chrono::nanoseconds span_of(const std::function<void()>& act) {
  const auto started = std::chrono::steady_clock::now();
  act();
  return std::chrono::steady_clock::now() - started;
}

TEST(KafkaFaults, NoBrokerIsUnavailableAndSaysWhy) {
  const std::string url = "kafka://127.0.0.1:" + std::to_string(free_port()) + "?timeout=1000";
  Error error;
  EXPECT_LT(span_of([&] {
              const auto log = try_open(url);
              ASSERT_FALSE(log);
              error = log.error();
            }),
            5s);
  EXPECT_EQ(error.code, Errc::unavailable);
  EXPECT_NE(error.message().find("Connection refused"), std::string::npos) << error.message();
}

// Reader and appender continue where they were.
TEST(KafkaFaults, ABrokerThatIsKilledAndComesBackHasLostNothing) {
  KafkaServer server(kSoonBack);
  const auto log = open_at(server.url());
  const Entry last = put(*log, "before");
  Answer<Result<std::vector<Entry>>> waiting;
  log->read(Cursor::at(last), waiting.callback());
  server.kill();
  const auto refused = append(*log, "meanwhile");
  EXPECT_TRUE(code_of(refused) == Errc::unavailable || code_of(refused) == Errc::unknown) << refused.error().message();
  server.restart();
  const auto position = insist_append(*log, "after");
  ASSERT_TRUE(position) << position.error().message();
  const auto run = waiting.get();
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_TRUE(run->front().data == "after" || run->front().data == "meanwhile") << run->front().data;
  ASSERT_TRUE(insist([&] { return append(*log, "beat", Lane::beat); }));
}

// What waits for it is answered in time, and no call hangs. It may have got the append.
TEST(KafkaFaults, AFrozenBrokerAnswersInDoubtAndHoldsNobodyUp) {
  const KafkaServer server;
  const auto log = open_at(server.url() + "?timeout=1000");
  const auto other = open_at(server.url() + "?timeout=1000");
  const Entry last = put(*log, "before");
  ASSERT_TRUE(append(*log, "beat", Lane::beat));
  ASSERT_TRUE(append(*other, "of the other"));
  server.freeze();
  for (const Lane lane : {Lane::data, Lane::beat}) {
    Errc code{};
    EXPECT_LT(span_of([&] { code = code_of(append(*log, "in doubt", lane)); }), 10s);
    EXPECT_TRUE(code == Errc::unknown || code == Errc::unavailable) << static_cast<int>(code);
  }
  Answer<Result<Position>> pending;
  other->append(Lane::data, "pending", pending.callback());
  EXPECT_LT(span_of([&] { other->close(); }), 5s);
  server.thaw();
  const auto position = insist_append(*log, "after");
  ASSERT_TRUE(position) << position.error().message();
  Cursor cursor = Cursor::at(last);
  for (bool found = false; !found;) {
    const auto run = insist_read(*log, cursor);
    ASSERT_TRUE(run) << run.error().message();
    cursor = Cursor::at(run->back());
    for (const Entry& entry : *run) found = found || entry.data == "after";
  }
}

TEST(KafkaFaults, ABrokerThatKeptNothingHasLostHistory) {
  KafkaServer server;
  const auto reader = open_at(server.url());
  const auto writer = open_at(server.url());
  const Entry last = put(*reader, "before");
  ASSERT_TRUE(append(*writer, "unread"));
  server.kill();
  server.forget();
  server.restart();
  EXPECT_EQ(code_of(insist_read(*reader, Cursor::at(last))), Errc::lost_history);
  EXPECT_EQ(code_of(append(*reader, "too early")), Errc::lost_history);
  EXPECT_EQ(code_of(insist_append(*writer, "too early")), Errc::lost_history);
  ASSERT_TRUE(insist([&] { return load_snapshot(*reader); }));
  ASSERT_TRUE(insist_append(*reader, "anew"));
}

// As after an unclean election: the end of the log is gone, and others fill it anew, to beyond what the reader has
// seen.
TEST(KafkaFaults, ALogThatLostItsEndAndRegrewIsNoticedByContent) {
  KafkaServer server(kSoonBack);
  auto log = open_at(server.url());
  ASSERT_TRUE(append(*log, "kept"));
  log.reset();
  server.kill();
  server.save();
  server.restart();
  const auto reader = open_at(server.url());
  Cursor cursor;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(insist_append(*reader, "to be lost " + std::to_string(i)));
  ASSERT_TRUE(read_on(*reader, cursor, 6));
  Answer<Result<std::vector<Entry>>> waiting;
  reader->read(cursor, waiting.callback());
  server.kill();
  server.bring_back();
  server.restart();
  const auto other = open_at(server.url());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(insist_append(*other, "regrown " + std::to_string(i)));
  Result<std::vector<Entry>> answer = waiting.get();
  if (code_of(answer) == Errc::unavailable) answer = insist_read(*reader, cursor);
  EXPECT_EQ(code_of(answer), Errc::lost_history);
  EXPECT_EQ(code_of(append(*reader, "too early", Lane::beat)), Errc::lost_history);
  ASSERT_TRUE(load_snapshot(*reader));
  Cursor from;
  const auto run = read_on(*reader, from, 21);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->at(0).data, "kept");
  EXPECT_EQ(run->at(20).data, "regrown 19");
}

// A file that may not grow stands for a disk that is full. Kafka gives its folder up then, and with its only folder
// itself. Everything that was acknowledged is there when there is room again.
TEST(KafkaFaults, ABrokerWhoseDiskIsFullLosesNothing) {
  constexpr rlim_t kFileBytes = 12U << 20;  // its index files have 10 MiB
  KafkaServer server(kSoonBack);
  const auto log = open_at(server.url() + "?timeout=1000");
  const rlimit full{kFileBytes, RLIM_INFINITY};
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_FSIZE, &full, nullptr), 0);
  std::vector<Bytes> acknowledged;
  Result<Position> last = fail(Errc::unknown, "append");
  for (int i = 0; i < 100; ++i) {
    const Bytes data = std::to_string(i) + Bytes(500'000, 'x');
    last = append(*log, data);
    if (!last) break;
    acknowledged.push_back(data);
  }
  ASSERT_FALSE(last);
  EXPECT_TRUE(code_of(last) == Errc::unavailable || code_of(last) == Errc::unknown) << last.error().message();
  EXPECT_GE(acknowledged.size(), 10U);
  server.kill();
  server.restart();
  ASSERT_TRUE(insist_append(*log, "after"));
  Cursor cursor;
  std::size_t found = 0;
  for (bool end = false; !end;) {
    const auto run = insist_read(*log, cursor);
    ASSERT_TRUE(run) << run.error().message();
    cursor = Cursor::at(run->back());
    for (const Entry& entry : *run) {
      if (found < acknowledged.size() && entry.data == acknowledged[found]) ++found;
      end = end || entry.data == "after";
    }
  }
  EXPECT_EQ(found, acknowledged.size());
}

// The broker holds back a client that is above its quota. Its appends take longer, and all of them get there.
TEST(KafkaFaults, AQuotaSlowsDownAndLosesNothing) {
  const KafkaServer server({"quota.window.size.seconds=1", "quota.window.num=2"});
  const auto log = open_at(server.url());
  ASSERT_TRUE(append(*log, "before"));
  server.run_tool({"kafka.admin.ConfigCommand", "--bootstrap-server", server.brokers(), "--alter", "--add-config",
                   "producer_byte_rate=200000", "--entity-type", "clients", "--entity-default"});
  const std::string data(100'000, 'x');
  const auto took = span_of([&] {
    for (int i = 0; i < 10; ++i) {
      const auto position = insist_append(*log, std::to_string(i) + data);
      ASSERT_TRUE(position) << position.error().message();
    }
  });
  EXPECT_GT(took, 1s);
  ASSERT_TRUE(insist([&] { return append(*log, "beat", Lane::beat); }));
  Cursor cursor;
  for (int next = 0; next < 10;) {
    const auto run = insist_read(*log, cursor);
    ASSERT_TRUE(run) << run.error().message();
    cursor = Cursor::at(run->back());
    for (const Entry& entry : *run) next += entry.data == std::to_string(next) + data ? 1 : 0;
  }
}

}  // namespace
}  // namespace tenure::conformance
