// Promises 1 and 2: every event is read once, in order, at the position that its writer got, with all of its bytes.

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tenure/emit_limits.hpp>

#include "source_conformance/engine.h"

namespace tenure::conformance {
namespace {

TEST_P(SourceConformance, EventsAreReadInOrderAtTheirPositions) {
  const auto stream = writer();
  std::vector<std::uint64_t> given;
  for (int i = 0; i < 20; ++i) {
    for (const std::uint64_t position : add(*stream, events_of("a" + std::to_string(i) + "-", 3))) {
      given.push_back(position);
    }
  }
  Reading reader = reading();
  const auto read = reader.until(60);
  EXPECT_EQ(positions(read), given);
  EXPECT_TRUE(std::is_sorted(given.begin(), given.end()));
  EXPECT_GE(given.front(), 1U);
  EXPECT_LE(given.back(), kEmitPositionMax) << "or no pool can take it in";
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(read[static_cast<std::size_t>(i)].payload, "a" + std::to_string(i / 3) + "-" + std::to_string(i % 3));
  }
  EXPECT_TRUE(reader.losses.empty());
  EXPECT_TRUE(reader.is_quiet());
}

TEST_P(SourceConformance, EveryByteOfAnEventIsKept) {
  Bytes all(256, '\0');
  std::iota(all.begin(), all.end(), '\0');
  source::Event event;
  event.payload = all;
  event.key = "key" + all;
  event.name = "name" + all;
  event.topic = "topic" + all;
  const auto stream = writer();
  add(*stream, {event});
  const auto read = reading().until(1);
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].payload, event.payload);
  EXPECT_EQ(read[0].key, event.key);
  EXPECT_EQ(read[0].name, event.name);
  EXPECT_EQ(read[0].topic, event.topic);
}

// An absent key and an empty one are two things, and an empty payload is no missing event.
TEST_P(SourceConformance, AbsentAndEmptyValuesAreKeptApart) {
  const auto stream = writer();
  add(*stream, {event_of("x"), event_of("x", ""), event_of("", "k"), event_of("")});
  const auto read = reading().until(4);
  ASSERT_EQ(read.size(), 4U);
  EXPECT_FALSE(read[0].key.has_value());
  EXPECT_EQ(read[1].key, Bytes());
  EXPECT_EQ(read[2].key, Bytes("k"));
  EXPECT_EQ(read[2].payload, "");
  EXPECT_EQ(read[3].payload, "");
  EXPECT_FALSE(read[3].key.has_value());
}

TEST_P(SourceConformance, TimesAreThoseOfTheAdd) {
  const BootClock clock;
  const auto stream = writer();
  const std::int64_t before = clock.wall_ms();
  add(*stream, {event_of("x")});
  const std::int64_t behind = clock.wall_ms();
  const auto read = reading().until(1);
  ASSERT_EQ(read.size(), 1U);
  EXPECT_GE(read[0].time_ms, before - 1);
  EXPECT_LE(read[0].time_ms, behind + 1);
}

TEST_P(SourceConformance, BigEventsArriveWhole) {
  const auto stream = writer();
  for (int i = 0; i < 6; ++i) add(*stream, {event_of(Bytes(std::size_t{900} << 10, static_cast<char>('a' + i)))});
  const auto read = reading().until(6);
  ASSERT_EQ(read.size(), 6U);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(read[static_cast<std::size_t>(i)].payload, Bytes(std::size_t{900} << 10, static_cast<char>('a' + i)));
  }
}

TEST_P(SourceConformance, ARunKeepsItsLimits) {
  const auto stream = writer();
  for (int i = 0; i < 50; ++i) add(*stream, events_of("e" + std::to_string(i) + "-", 100));
  Reading reader = reading();
  reader.limits = {.events = 7, .bytes = 1U << 20};
  ASSERT_TRUE(reader.next());
  EXPECT_LE(reader.events.size(), 7U);
  reader.limits = {.events = 1000, .bytes = 30};
  std::size_t before = reader.events.size();
  ASSERT_TRUE(reader.next());
  std::size_t bytes = 0;
  for (std::size_t i = before; i < reader.events.size(); ++i) bytes += reader.events[i].bytes();
  EXPECT_LE(bytes, 30U);
  // One event at least, whatever its size.
  reader.limits = {.events = 1000, .bytes = 1};
  before = reader.events.size();
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.events.size(), before + 1);
  reader.limits = {};
  const auto read = reader.until(5000);
  ASSERT_EQ(read.size(), 5000U);
  EXPECT_EQ(read.back().payload, "e49-99");
}

// What a reader reads twice is the same twice.
TEST_P(SourceConformance, TheSameEventHasTheSamePositionForEveryReader) {
  const auto stream = writer();
  add(*stream, events_of("e", 100));
  const auto first = reading().until(100);
  const auto second = reading().until(100);
  ASSERT_EQ(second.size(), first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(second[i].position, first[i].position);
    EXPECT_EQ(second[i].time_ms, first[i].time_ms);
    EXPECT_EQ(source::mark_of(second[i]), source::mark_of(first[i]));
  }
}

TEST_P(SourceConformance, AReaderGoesOnWhereAnotherStopped) {
  const auto stream = writer();
  add(*stream, events_of("e", 10));
  Reading first = reading();
  first.limits.events = 4;
  const auto read = first.until(4);
  ASSERT_EQ(read.size(), 4U);
  Reading second = reading(first.position, {source::mark_of(read.back())});
  const auto rest = second.until(6);
  ASSERT_EQ(rest.size(), 6U);
  EXPECT_EQ(rest.front().payload, "e4");
  EXPECT_TRUE(second.changes.empty());
  EXPECT_TRUE(second.losses.empty());
}

TEST_P(SourceConformance, OpeningAgainStartsOver) {
  const auto stream = writer();
  const auto given = add(*stream, events_of("e", 10));
  ASSERT_EQ(given.size(), 10U);
  Reading reader = reading();
  reader.until(10);
  ASSERT_TRUE(reader.source().open("0", given[6], {}));
  reader.events.clear();
  reader.position = given[6];
  EXPECT_EQ(payloads(reader.until(3)), (std::vector<std::string>{"e7", "e8", "e9"}));
}

TEST_P(SourceConformance, AReaderSeesWhatIsAddedWhileItReads) {
  const auto stream = writer();
  Reading reader = reading();
  for (int i = 0; i < 50; ++i) {
    add(*stream, {event_of("e" + std::to_string(i))});
    const auto read = reader.until(static_cast<std::size_t>(i) + 1);
    ASSERT_EQ(read.size(), static_cast<std::size_t>(i) + 1);
    EXPECT_EQ(read.back().payload, "e" + std::to_string(i));
  }
}

TEST_P(SourceConformance, PartitionsHaveNames) {
  const auto stream = writer();
  const auto source = reader();
  const auto names = source->partitions();
  ASSERT_TRUE(names) << names.error().message();
  EXPECT_EQ(*names, std::vector<Bytes>{"0"});
  EXPECT_EQ(code_of(source->ends("no such partition")), Errc::no_such_key);
  EXPECT_FALSE(source->open("no such partition", 0, {}));
}

// The events of a key stay in order, in whichever partition they are.
TEST_P(SourceConformance, EachOfSeveralPartitionsIsReadInOrder) {
  if (!GetParam().partitions) GTEST_SKIP() << "one partition";
  place().make_partitions("many", 4);
  const auto stream = writer("many");
  for (int i = 0; i < 200; ++i) {
    add(*stream, {event_of(std::to_string(i), "key" + std::to_string(i % 16))});
  }
  const auto source = reader("many");
  const auto names = source->partitions();
  ASSERT_TRUE(names) << names.error().message();
  ASSERT_EQ(names->size(), 4U);
  std::set<int> seen;
  std::map<Bytes, int> last;
  const BootClock clock;
  const Instant deadline = clock.now() + kDeadline;
  for (const Bytes& name : *names) ASSERT_TRUE(source->open(name, 0, {}));
  while (seen.size() < 200 && clock.now() < deadline) {
    for (const Bytes& name : *names) {
      const auto run = source->read(name, {});
      if (!run) continue;
      for (const source::Event& event : run->events) {
        const int number = std::stoi(event.payload);
        EXPECT_TRUE(seen.insert(number).second);
        if (last.contains(*event.key)) {
          EXPECT_GT(number, last[*event.key]);
        }
        last[*event.key] = number;
      }
    }
    if (seen.size() < 200) source->wait(deadline);
  }
  EXPECT_EQ(seen.size(), 200U);
}

}  // namespace
}  // namespace tenure::conformance
