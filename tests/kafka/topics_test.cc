// Topics that others made, or changed, and trims.

#include <atomic>

#include "kafka/place.h"
#include "log/kafka/topics.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

class KafkaTopics : public KafkaTest {
 protected:
  // What opening says about a log topic that somebody made so. Each has a pool of its own.
  std::string refusal(const std::string& setting, const std::string& value, int partitions = 1) const {
    KafkaAdmin::Settings settings = log_settings();
    if (!setting.empty()) settings[setting] = value;
    const std::string pool =
        "pool" + std::to_string(partitions) + (setting.empty() ? "" : setting.substr(0, 3) + value);
    admin().make_topic(kafka::TopicNames(prefix(), pool, 0).log, partitions, settings);
    const auto log = try_open(url(), pool);
    if (log) return "";
    EXPECT_EQ(log.error().code, Errc::refused);
    return log.error().message();
  }
};

TEST_F(KafkaTopics, ATopicThatCannotBeALogIsRefusedWithTheCommandThatChangesIt) {
  const std::string compacted = refusal("cleanup.policy", "compact");
  EXPECT_NE(compacted.find("cleanup.policy=compact"), std::string::npos) << compacted;
  EXPECT_NE(compacted.find("kafka-configs.sh --bootstrap-server"), std::string::npos) << compacted;
  EXPECT_NE(compacted.find(".0 --add-config cleanup.policy=delete"), std::string::npos) << compacted;
  EXPECT_NE(refusal("message.timestamp.type", "CreateTime").find("message.timestamp.type=LogAppendTime"),
            std::string::npos);
  EXPECT_NE(refusal("retention.ms", "604800000").find("retention.ms=-1"), std::string::npos);
  EXPECT_NE(refusal("retention.bytes", "1000000").find("retention.bytes=-1"), std::string::npos);
  EXPECT_NE(refusal("max.message.bytes", "100000").find("max.message.bytes=1048588"), std::string::npos);
  EXPECT_NE(refusal("", "", 3).find("3 partitions, not 1"), std::string::npos);
}

// An administrator made them, and the user may not create topics. Here they are empty.
TEST_F(KafkaTopics, TopicsThatWereMadeBeforehandAreUsed) {
  admin().make_topic(log_topic(), 1, log_settings());
  EXPECT_EQ(code_of(open_log(url(), {.create = false})), Errc::no_such_pool);
  EXPECT_EQ(code_of(open_log(url(), {.read_only = true})), Errc::refused);
  const auto log = open();
  ASSERT_TRUE(append(*log, "x"));
  EXPECT_TRUE(read(*log, {}));
  EXPECT_EQ(admin().topics(log_topic()).size(), 2U);
}

TEST_F(KafkaTopics, AnEntryThatTheTopicNoLongerTakesIsRefusedWithAdvice) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "x"));
  KafkaAdmin::Settings settings = log_settings();
  settings["max.message.bytes"] = "10000";
  admin().alter_topic(log_topic(), settings);
  Result<Position> answer = append(*log, Bytes(500'000, 'x'));
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (answer && std::chrono::steady_clock::now() < deadline) answer = append(*log, Bytes(500'000, 'x'));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::refused) << answer.error().message();
  EXPECT_NE(answer.error().message().find("max.message.bytes"), std::string::npos) << answer.error().message();
  EXPECT_TRUE(append(*log, "small"));
}

class KafkaTrims : public KafkaTest {
 protected:
  std::vector<Entry> fill(Log& log, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(append(log, "entry" + std::to_string(i)));
    Cursor cursor;
    auto entries = read_on(log, cursor, count);
    EXPECT_TRUE(entries);
    return entries ? *std::move(entries) : std::vector<Entry>();
  }
};

// Its own entry is still there.
TEST_F(KafkaTrims, AReaderIsNotDisturbedByATrimBehindIt) {
  const auto log = open();
  const auto entries = fill(*log, 20);
  Answer<Result<std::vector<Entry>>> waiting;
  log->read(Cursor::at(entries.back()), waiting.callback());
  admin().drop_before(log_topic(), 0, static_cast<std::int64_t>(entries[10].position) - 1);
  EXPECT_FALSE(waiting.ready_within(1500ms));
  ASSERT_TRUE(append(*log, "next"));
  const auto run = waiting.get();
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->front().data, "next");
}

TEST_F(KafkaTrims, AReaderWhoseEntriesAnotherProgramDroppedIsTold) {
  const auto log = open();
  const auto entries = fill(*log, 20);
  const auto slow = open();
  ASSERT_TRUE(read(*slow, Cursor::at(entries[3])));
  admin().drop_before(log_topic(), 0, static_cast<std::int64_t>(entries[10].position) - 1);
  EXPECT_EQ(code_of(read(*slow, Cursor::at(entries[4]))), Errc::trimmed);
}

// Nobody could know what was in them.
TEST_F(KafkaTrims, ALogWhoseBeginningIsGoneWithoutASnapshotIsNotOpened) {
  const auto log = open();
  const auto entries = fill(*log, 20);
  admin().drop_before(log_topic(), 0, static_cast<std::int64_t>(entries[10].position) - 1);
  EXPECT_EQ(code_of(try_open(url())), Errc::corrupt);
  EXPECT_EQ(code_of(load_snapshot(*log)), Errc::corrupt);
  // A member that knows the pool writes one.
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(entries[15]), {"state"}));
  const auto newcomer = open();
  const auto snapshot = load_snapshot(*newcomer);
  ASSERT_TRUE(snapshot) << snapshot.error().message();
  EXPECT_EQ(snapshot->cursor, Cursor::at(entries[15]));
}

// The member learns of it with a beat, and writes another one, for which the engine makes the topic again.
TEST_F(KafkaTrims, ASnapshotThatWasDeletedIsReportedAndCanBeWrittenAgain) {
  const auto log = open();
  const auto entries = fill(*log, 5);
  std::atomic<std::int64_t> seen = -1;
  log->watch_snapshot([&](Position stored) { seen = static_cast<std::int64_t>(stored); });
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(entries[3]), {"state"}));
  const auto reported = [&](Position position) {
    return soon(20s, [&] {
      EXPECT_TRUE(append(*log, "beat", Lane::beat));
      return seen == static_cast<std::int64_t>(position);
    });
  };
  EXPECT_TRUE(reported(entries[3].position));
  admin().delete_topics({snapshots_topic()});
  EXPECT_TRUE(reported(0));
  ASSERT_TRUE(insist([&] { return store_snapshot(*log, Cursor::at(entries[4]), {"again"}); }));
  EXPECT_TRUE(reported(entries[4].position));
  const auto snapshot = load_snapshot(*open());
  ASSERT_TRUE(snapshot) << snapshot.error().message();
  EXPECT_EQ(snapshot->chunks, (std::vector<Bytes>{"again"}));
  log->close();
}

// The pieces of an entry lie before it.
TEST_F(KafkaTrims, ALargeEntryAtTheTrimStaysWhole) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "small"));
  ASSERT_TRUE(append(*log, Bytes(2'500'000, 'L')));
  ASSERT_TRUE(append(*log, "after"));
  Cursor cursor;
  const auto entries = read_on(*log, cursor, 3);
  ASSERT_TRUE(entries) << entries.error().message();
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(entries->at(1)), {"state"}));
  ASSERT_TRUE(trim(*log, entries->at(2).position));
  EXPECT_EQ(code_of(read(*open(), {})), Errc::trimmed);
  const auto newcomer = open();
  const auto snapshot = load_snapshot(*newcomer);
  ASSERT_TRUE(snapshot) << snapshot.error().message();
  const auto run = read(*newcomer, snapshot->cursor);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->front().data, "after");
}

// What newer snapshots replaced does not fill the disk.
TEST_F(KafkaTrims, OldSnapshotsAreDropped) {
  const auto log = open();
  const auto entries = fill(*log, 8);
  for (const Entry& entry : entries) {
    ASSERT_TRUE(store_snapshot(*log, Cursor::at(entry), {Bytes(1000, 'a'), Bytes(2'000'000, 'b')}));
  }
  const auto snapshot = load_snapshot(*open());
  ASSERT_TRUE(snapshot) << snapshot.error().message();
  EXPECT_EQ(snapshot->cursor, Cursor::at(entries.back()));
  EXPECT_EQ(snapshot->chunks.at(1).size(), 2'000'000U);
  const auto kept = admin().records(snapshots_topic(), 0);
  EXPECT_LE(kept, 2 * 4) << "of the last two snapshots, with four records each";
}

}  // namespace
}  // namespace tenure::conformance
