// Topics as sources, on a real broker: records of any producer, transactions, records that were deleted before they
// were read, topics that grow, and topics that are replaced.

#include "kafka/source_place.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;
using source::Change;
using source::StartAt;

using Payloads = std::vector<std::string>;

TEST_F(KafkaSourceTest, EventsOfAPlainProducerComeInOrderWithKeysAndHeaders) {
  make_topic(3);
  producer().write(topic(), 1, {.key = "customer", .value = "one", .time_ms = 1'700'000'000'123});
  producer().write(topic(), 1, {.value = "two", .name = "created", .topic = "eu"});
  producer().write(topic(), 1, {.key = "", .value = ""});
  const auto from = source_at(url());
  const auto names = from->partitions();
  ASSERT_TRUE(names) << names.error().message();
  EXPECT_EQ(*names, (Payloads{"0", "1", "2"}));
  ASSERT_TRUE(from->open("1", 0, {}));
  TopicReading reading;
  ASSERT_TRUE(read_events(*from, "1", reading, 3));
  EXPECT_EQ(reading.payloads(), (Payloads{"one", "two", ""}));
  const auto& events = reading.events;
  EXPECT_EQ(events[0].position, 1U);
  EXPECT_EQ(events[2].position, 3U);
  EXPECT_EQ(events[0].time_ms, 1'700'000'000'123);
  EXPECT_EQ(events[0].key, std::optional<Bytes>("customer"));
  EXPECT_EQ(events[1].key, std::nullopt);
  EXPECT_EQ(events[2].key, std::optional<Bytes>(""));
  EXPECT_EQ(events[1].name, "created");
  EXPECT_EQ(events[1].topic, "eu");
  EXPECT_EQ(reading.losses.size() + reading.changes.size(), 0U);
}

TEST_F(KafkaSourceTest, StartsAreFoundByPositionTimeAndEnds) {
  make_topic();
  for (int i = 1; i <= 5; ++i) producer().write(topic(), 0, {.value = std::to_string(i), .time_ms = 1000 * i});
  const auto from = source_at(url());
  const auto found = [&](const StartAt& at) { return from->find("0", at).value_or(99); };
  EXPECT_EQ(found({.kind = StartAt::Kind::oldest}), 0U);
  EXPECT_EQ(found({.kind = StartAt::Kind::newest}), 5U);
  EXPECT_EQ(found({.kind = StartAt::Kind::position, .position = 3}), 2U);
  EXPECT_EQ(found({.kind = StartAt::Kind::time, .time_ms = 2500}), 2U);
  EXPECT_EQ(found({.kind = StartAt::Kind::time, .time_ms = 2000}), 1U);
  EXPECT_EQ(found({.kind = StartAt::Kind::time, .time_ms = 9000}), 5U);
  admin().drop_before(topic(), 0, 2);
  EXPECT_EQ(found({.kind = StartAt::Kind::oldest}), 2U);
  const auto ends = from->ends("0");
  ASSERT_TRUE(ends);
  EXPECT_EQ(ends->first, 3U);
  EXPECT_EQ(ends->last, 5U);
}

// The markers behind a transaction take positions, and so do records that nobody may see.
TEST_F(KafkaSourceTest, AbortedTransactionsAreNoLossAndMoveThePositionOn) {
  make_topic();
  const PlainProducer transactions(brokers(), topic());
  transactions.begin();
  transactions.write(topic(), 0, {.value = "committed"});
  transactions.commit();
  transactions.begin();
  transactions.write(topic(), 0, {.value = "aborted"});
  transactions.abort();
  const auto from = source_at(url());
  const auto end = from->ends("0");
  ASSERT_TRUE(end);
  EXPECT_EQ(end->last, 4U);
  ASSERT_TRUE(from->open("0", 0, {}));
  TopicReading reading;
  ASSERT_TRUE(read_until(*from, "0", reading, [&] { return reading.position >= 4; }));
  EXPECT_EQ(reading.payloads(), Payloads{"committed"});
  write("plain");
  ASSERT_TRUE(read_events(*from, "0", reading, 2));
  EXPECT_EQ(reading.events[1].position, 5U);
  EXPECT_TRUE(reading.losses.empty());
}

TEST_F(KafkaSourceTest, RecordsThatWereDeletedBeforeTheyWereReadAreReported) {
  make_topic();
  for (int i = 1; i <= 9; ++i) write(std::to_string(i));
  admin().drop_before(topic(), 0, 6);
  const auto from = source_at(url());
  ASSERT_TRUE(from->open("0", 2, {}));
  TopicReading reading;
  ASSERT_TRUE(read_events(*from, "0", reading, 3));
  EXPECT_EQ(reading.payloads(), (Payloads{"7", "8", "9"}));
  ASSERT_EQ(reading.losses.size(), 1U);
  EXPECT_EQ(reading.losses[0].first, 3U);
  EXPECT_EQ(reading.losses[0].last, 6U);
  EXPECT_EQ(reading.losses[0].count, 4U);
}

// The reader has been told the position of the last event before.
TEST_F(KafkaSourceTest, RecordsThatAreDeletedUnderTheReaderAreReported) {
  make_topic();
  write("read");
  const auto from = source_at(url());
  ASSERT_TRUE(from->open("0", 0, {}));
  TopicReading reading;
  ASSERT_TRUE(read_events(*from, "0", reading, 1));
  from->close("0");
  for (int i = 0; i < 4; ++i) write("missed");
  admin().drop_before(topic(), 0, 5);
  write("next");
  ASSERT_TRUE(from->open("0", reading.position, reading.marks()));
  ASSERT_TRUE(read_events(*from, "0", reading, 2));
  EXPECT_EQ(reading.payloads(), (Payloads{"read", "next"}));
  ASSERT_EQ(reading.losses.size(), 1U);
  EXPECT_EQ(reading.losses[0].first, 2U);
  EXPECT_EQ(reading.losses[0].last, 5U);
  EXPECT_TRUE(reading.changes.empty());
}

// Everything is gone, and nothing new has come.
TEST_F(KafkaSourceTest, ALossIsReportedWithoutAnEventBehindIt) {
  make_topic();
  for (int i = 0; i < 5; ++i) write("missed");
  admin().drop_before(topic(), 0, 5);
  const auto from = source_at(url());
  ASSERT_TRUE(from->open("0", 0, {}));
  TopicReading reading;
  ASSERT_TRUE(read_until(*from, "0", reading, [&] { return !reading.losses.empty(); }));
  EXPECT_EQ(reading.losses[0].last, 5U);
  EXPECT_EQ(reading.position, 5U);
}

TEST_F(KafkaSourceTest, AReaderGoesOnBehindItsMarks) {
  make_topic();
  for (const char* value : {"a", "b", "c"}) write(value);
  TopicReading reading;
  const auto first = source_at(url());
  ASSERT_TRUE(first->open("0", 0, {}));
  ASSERT_TRUE(read_events(*first, "0", reading, 3));
  write("d");
  const auto second = source_at(url());
  ASSERT_TRUE(second->open("0", 3, reading.marks()));
  ASSERT_TRUE(read_events(*second, "0", reading, 4));
  EXPECT_EQ(reading.payloads(), (Payloads{"a", "b", "c", "d"}));
  EXPECT_TRUE(reading.changes.empty());
}

class KafkaReplaced : public KafkaSourceTest {
 protected:
  // Ten records, with times, so that they can be written once more.
  void fill(int from, int to, const std::string& tail) const {
    for (int i = from; i <= to; ++i) {
      producer().write(topic(), 0, {.value = tail + std::to_string(i), .time_ms = 1'700'000'000'000 + i});
    }
  }
  void replace() const {
    admin().delete_topics({topic()});
    make_topic();
  }
};

TEST_F(KafkaReplaced, ATopicThatWasMadeAgainIsNoticedWhenItIsOpened) {
  make_topic();
  fill(1, 10, "old ");
  const auto from = source_at(url());
  ASSERT_TRUE(from->open("0", 0, {}));
  TopicReading old;
  ASSERT_TRUE(read_events(*from, "0", old, 10));
  replace();
  fill(1, 12, "new ");
  const auto again = source_at(url());
  ASSERT_TRUE(again->open("0", 10, old.marks()));
  TopicReading reading{.position = 10};
  ASSERT_TRUE(read_events(*again, "0", reading, 12));
  EXPECT_EQ(reading.changes, std::vector<Change>{Change::anew});
  EXPECT_EQ(reading.resumed, 0U);
  EXPECT_EQ(reading.events.front().payload, "new 1");
  EXPECT_TRUE(reading.losses.empty());
}

TEST_F(KafkaReplaced, AShorterTopicIsNoticedToo) {
  make_topic();
  fill(1, 10, "old ");
  const auto from = source_at(url());
  ASSERT_TRUE(from->open("0", 0, {}));
  TopicReading old;
  ASSERT_TRUE(read_events(*from, "0", old, 10));
  replace();
  fill(1, 3, "new ");
  const auto again = source_at(url());
  ASSERT_TRUE(again->open("0", 10, old.marks()));
  TopicReading reading{.position = 10};
  ASSERT_TRUE(read_events(*again, "0", reading, 3));
  EXPECT_EQ(reading.changes, std::vector<Change>{Change::anew});
  EXPECT_EQ(reading.payloads(), (Payloads{"new 1", "new 2", "new 3"}));
}

// The reader has read on in the new topic before it looked at the old one's records even once.
TEST_F(KafkaReplaced, ATopicThatOutgrewItsReaderIsNoticedByTheOldestMark) {
  make_topic();
  fill(1, 3, "old ");
  const auto from = source_at(url());
  ASSERT_TRUE(from->open("0", 0, {}));
  TopicReading old;
  ASSERT_TRUE(read_events(*from, "0", old, 3));
  replace();
  fill(1, 6, "new ");
  const auto other = source_at(url());
  ASSERT_TRUE(other->open("0", 0, {}));
  TopicReading now;
  ASSERT_TRUE(read_events(*other, "0", now, 6));
  std::vector<source::Mark> marks = old.marks();
  const std::vector<source::Mark> later = now.marks();
  marks.insert(marks.end(), later.begin() + 3, later.end());
  const auto again = source_at(url());
  ASSERT_TRUE(again->open("0", 6, marks));
  TopicReading reading{.position = 6};
  ASSERT_TRUE(read_events(*again, "0", reading, 6));
  EXPECT_EQ(reading.changes, std::vector<Change>{Change::anew});
  EXPECT_EQ(reading.events.front().payload, "new 1");
}

// As after an unclean election: the first records are the same, and then others follow.
TEST_F(KafkaReplaced, ATailThatWasLostAndRegrownIsReadFromTheLastMarkThatHolds) {
  make_topic();
  fill(1, 10, "kept ");
  const auto from = source_at(url());
  ASSERT_TRUE(from->open("0", 0, {}));
  TopicReading old;
  ASSERT_TRUE(read_events(*from, "0", old, 10));
  replace();
  fill(1, 6, "kept ");
  fill(7, 14, "regrown ");
  const auto again = source_at(url());
  ASSERT_TRUE(again->open("0", 10, old.marks()));
  TopicReading reading{.position = 10};
  ASSERT_TRUE(read_events(*again, "0", reading, 8));
  EXPECT_EQ(reading.changes, std::vector<Change>{Change::cut});
  EXPECT_EQ(reading.resumed, 6U);
  EXPECT_EQ(reading.events.front().payload, "regrown 7");
}

// The tail is lost, and nothing has grown yet.
TEST_F(KafkaReplaced, ATailThatWasLostIsReadAsSoonAsItGrows) {
  make_topic();
  fill(1, 10, "kept ");
  const auto from = source_at(url());
  ASSERT_TRUE(from->open("0", 0, {}));
  TopicReading old;
  ASSERT_TRUE(read_events(*from, "0", old, 10));
  replace();
  fill(1, 6, "kept ");
  const auto again = source_at(url());
  ASSERT_TRUE(again->open("0", 10, old.marks()));
  TopicReading reading{.position = 10};
  ASSERT_TRUE(read_until(*again, "0", reading, [&] { return !reading.changes.empty(); }));
  EXPECT_EQ(reading.changes, std::vector<Change>{Change::cut});
  EXPECT_EQ(reading.resumed, 6U);
  fill(7, 7, "new ");
  ASSERT_TRUE(read_events(*again, "0", reading, 1));
  EXPECT_EQ(reading.payloads(), Payloads{"new 7"});
}

// Under a reader: it says that the topic is gone, and goes on with the next one.
TEST_F(KafkaReplaced, AReaderNoticesThatItsTopicIsReplaced) {
  make_topic();
  fill(1, 10, "old ");
  const auto from = source_at(url());
  ASSERT_TRUE(from->open("0", 0, {}));
  TopicReading old;
  ASSERT_TRUE(read_events(*from, "0", old, 10));
  admin().delete_topics({topic()});
  ASSERT_TRUE(read_until(*from, "0", old, [&] { return old.error == Errc::no_such_key; }));
  make_topic();
  fill(1, 12, "new ");
  TopicReading reading{.position = 10};
  ASSERT_TRUE(read_events(*from, "0", reading, 12));
  EXPECT_EQ(reading.changes, std::vector<Change>{Change::anew});
  EXPECT_EQ(reading.events.front().payload, "new 1");
}

// At once, so that the reader may see no error: what it reads behind its position is of another topic.
TEST_F(KafkaReplaced, AReaderNoticesATopicThatIsReplacedAtOnce) {
  make_topic();
  fill(1, 3, "old ");
  const auto from = source_at(url());
  ASSERT_TRUE(from->open("0", 0, {}));
  TopicReading reading;
  ASSERT_TRUE(read_events(*from, "0", reading, 3));
  replace();
  fill(1, 6, "new ");
  ASSERT_TRUE(read_until(*from, "0", reading, [&] { return !reading.changes.empty(); }));
  EXPECT_EQ(reading.changes, std::vector<Change>{Change::anew});
  ASSERT_TRUE(read_until(*from, "0", reading, [&] { return reading.position >= 6; }));
  const Payloads all = reading.payloads();
  ASSERT_GE(all.size(), 9U);
  EXPECT_EQ(Payloads(all.end() - 6, all.end()), (Payloads{"new 1", "new 2", "new 3", "new 4", "new 5", "new 6"}));
}

TEST_F(KafkaSourceTest, PartitionsThatAreAddedLaterAreFound) {
  make_topic(1);
  const auto from = source_at(url());
  ASSERT_TRUE(from->partitions());
  ASSERT_TRUE(from->open("0", 0, {}));
  admin().add_partitions(topic(), 3);
  Payloads names;
  ASSERT_TRUE(soon(20s, [&] {
    names = from->partitions().value_or(Payloads());
    return names.size() == 3;
  }));
  write("here", 2);
  ASSERT_TRUE(from->open("2", 0, {}));
  TopicReading reading;
  ASSERT_TRUE(read_events(*from, "2", reading, 1));
  EXPECT_EQ(reading.payloads(), Payloads{"here"});
}

TEST_F(KafkaSourceTest, AGroupShowsHowFarTheTopicWasRead) {
  make_topic(2);
  for (int i = 0; i < 7; ++i) write("x", 1);
  const std::string group = topic() + "-group";
  const auto from = source_at(url("?group=" + group));
  ASSERT_TRUE(from->open("1", 0, {}));
  TopicReading reading;
  ASSERT_TRUE(read_events(*from, "1", reading, 7));
  ASSERT_TRUE(soon(30s, [&] {
    from->note_read("1", reading.position);
    from->wait(BootClock().now() + 200ms);
    return committed_offset(brokers(), group, topic(), 1) == 7;
  }));
}

TEST_F(KafkaSourceTest, ATopicThatDoesNotExistIsReported) {
  const auto from = source_at(url());
  EXPECT_EQ(code_of(from->partitions()), Errc::no_such_key);
  EXPECT_EQ(code_of(from->ends("0")), Errc::no_such_key);
  ASSERT_TRUE(from->open("0", 0, {}));
  TopicReading reading;
  ASSERT_TRUE(read_until(*from, "0", reading, [&] { return reading.error == Errc::no_such_key; }));
  make_topic();
  write("first");
  ASSERT_TRUE(read_events(*from, "0", reading, 1));
  EXPECT_TRUE(reading.changes.empty());
}

}  // namespace
}  // namespace tenure::conformance
