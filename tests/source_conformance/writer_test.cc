// What a stream's owner can do with it, and that its bound is exact whoever writes.

#include <atomic>
#include <map>
#include <thread>

#include "source_conformance/engine.h"

namespace tenure::conformance {
namespace {

using source::StreamLimits;

constexpr StreamLimits refuse(std::uint64_t events_max) {
  return {.events_max = events_max, .at_bound = StreamLimits::AtBound::refuse};
}
constexpr StreamLimits drop(std::uint64_t events_max) {
  return {.events_max = events_max, .at_bound = StreamLimits::AtBound::drop_oldest};
}

TEST_P(SourceConformance, ManyWritersAndManyReadersSeeOneOrder) {
  constexpr int kWriters = 4;
  constexpr int kEach = 100;
  const auto made = writer();
  std::vector<std::thread> threads;
  std::vector<std::map<std::uint64_t, std::string>> given(kWriters);
  std::vector<std::vector<source::Event>> read(3);
  for (auto& events : read) {
    threads.emplace_back([&] { events = reading().until(std::size_t{kWriters} * kEach); });
  }
  for (int w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      const auto stream = writer();
      for (int i = 0; i < kEach; ++i) {
        const std::string payload = std::to_string(w) + "-" + std::to_string(i);
        const auto at = add(*stream, {event_of(payload)});
        ASSERT_EQ(at.size(), 1U);
        given[static_cast<std::size_t>(w)][at[0]] = payload;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<std::uint64_t, std::string> all;
  for (const auto& some : given) all.insert(some.begin(), some.end());
  ASSERT_EQ(all.size(), std::size_t{kWriters} * kEach);
  for (const auto& events : read) {
    std::map<std::uint64_t, std::string> seen;
    for (const source::Event& event : events) seen[event.position] = event.payload;
    EXPECT_EQ(seen, all);
  }
}

TEST_P(SourceConformance, AStreamTellsAboutItself) {
  const auto stream = writer();
  const auto given = add(*stream, events_of("e", 10));
  ASSERT_EQ(given.size(), 10U);
  ASSERT_TRUE(stream->trim(given[4]));
  const auto info = stream->info();
  ASSERT_TRUE(info) << info.error().message();
  EXPECT_EQ(info->events, 6U);
  EXPECT_EQ(info->ends.first, given[4]);
  EXPECT_EQ(info->ends.last, given[9]);
  EXPECT_EQ(info->partitions, 1U);
  EXPECT_EQ(info->limits.events_max, 0U);
}

TEST_P(SourceConformance, NothingIsAddedByAnEmptyCall) {
  const auto stream = writer();
  EXPECT_TRUE(add(*stream, {}).empty());
  const auto info = stream->info();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->events, 0U);
}

TEST_P(SourceConformance, ACallAboveItsBoundsIsRefused) {
  const auto stream = writer();
  EXPECT_EQ(code_of(stream->add(events_of("e", source::kAddEventsMax + 1))), Errc::invalid);
  EXPECT_EQ(code_of(stream->add({event_of(Bytes(source::kAddBytesMax + 1, 'x'))})), Errc::invalid);
  const auto info = stream->info();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->events, 0U);
}

TEST_P(SourceConformance, AFullStreamRefusesAndDropsNothing) {
  if (!GetParam().limits) GTEST_SKIP() << "streams are not bounded";
  const auto stream = writer();
  ASSERT_TRUE(stream->set_limits(refuse(5)));
  const auto given = add(*stream, events_of("e", 4));
  ASSERT_EQ(given.size(), 4U);
  // All of them or none.
  EXPECT_EQ(code_of(stream->add(events_of("f", 2))), Errc::pool_full);
  add(*stream, {event_of("g")});
  EXPECT_EQ(code_of(stream->add({event_of("h")})), Errc::pool_full);
  EXPECT_EQ(payloads(reading().until(5)), (std::vector<std::string>{"e0", "e1", "e2", "e3", "g"}));
  ASSERT_TRUE(stream->trim(given[2]));
  EXPECT_EQ(add(*stream, events_of("i", 2)).size(), 2U);
  EXPECT_EQ(code_of(stream->add({event_of("j")})), Errc::pool_full);
  ASSERT_TRUE(stream->set_limits({}));
  EXPECT_EQ(add(*stream, {event_of("k")}).size(), 1U);
}

TEST_P(SourceConformance, AStreamMayDropItsOldestEvents) {
  if (!GetParam().limits) GTEST_SKIP() << "streams are not bounded";
  const auto stream = writer();
  ASSERT_TRUE(stream->set_limits(drop(5)));
  for (int i = 0; i < 4; ++i) add(*stream, events_of("e" + std::to_string(i) + "-", 3));
  const auto info = stream->info();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->events, 5U);
  const auto after = reader()->find("0", {});
  ASSERT_TRUE(after);
  EXPECT_EQ(payloads(reading(*after).until(5)), (std::vector<std::string>{"e2-1", "e2-2", "e3-0", "e3-1", "e3-2"}));
  // A lower bound takes effect at once.
  ASSERT_TRUE(stream->set_limits(drop(2)));
  ASSERT_TRUE(stream->info());
  EXPECT_EQ(stream->info()->events, 2U);
}

// A bound that refuses never drops, even if there is more than it allows.
TEST_P(SourceConformance, ALowerBoundThatRefusesDropsNothing) {
  if (!GetParam().limits) GTEST_SKIP() << "streams are not bounded";
  const auto stream = writer();
  add(*stream, events_of("e", 10));
  ASSERT_TRUE(stream->set_limits(refuse(5)));
  EXPECT_EQ(reading().until(10).size(), 10U);
  EXPECT_EQ(code_of(stream->add({event_of("x")})), Errc::pool_full);
}

TEST_P(SourceConformance, ABoundBelongsToTheStream) {
  if (!GetParam().limits) GTEST_SKIP() << "streams are not bounded";
  const auto first = writer();
  ASSERT_TRUE(first->set_limits(refuse(3)));
  const auto second = writer();
  add(*second, events_of("e", 3));
  EXPECT_EQ(code_of(second->add({event_of("x")})), Errc::pool_full);
  const auto info = second->info();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->limits.events_max, 3U);
  EXPECT_EQ(info->limits.at_bound, StreamLimits::AtBound::refuse);
  // A stream that is made again has none.
  ASSERT_TRUE(second->remove());
  const auto third = writer();
  EXPECT_EQ(add(*third, events_of("e", 4)).size(), 4U);
}

TEST_P(SourceConformance, ABoundIsExactUnderConcurrentWriters) {
  if (!GetParam().limits) GTEST_SKIP() << "streams are not bounded";
  constexpr std::uint64_t kMax = 50;
  const auto stream = writer();
  ASSERT_TRUE(stream->set_limits(refuse(kMax)));
  std::atomic<std::uint64_t> added = 0;
  std::vector<std::thread> threads;
  for (int w = 0; w < 4; ++w) {
    threads.emplace_back([&] {
      const auto mine = writer();
      for (int i = 0; i < 25; ++i) {
        const auto at = mine->add({event_of("x")});
        if (at)
          ++added;
        else
          EXPECT_EQ(at.error().code, Errc::pool_full);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(added, kMax);
  const auto info = stream->info();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->events, kMax);
}

TEST_P(SourceConformance, StreamsOfOnePlaceAreApart) {
  const auto one = writer("one");
  const auto two = writer("t w/o: ü%'\"?&=");
  add(*one, events_of("a", 3));
  add(*two, events_of("b", 2));
  EXPECT_EQ(payloads(reading(0, {}, "one").until(3)), (std::vector<std::string>{"a0", "a1", "a2"}));
  EXPECT_EQ(payloads(reading(0, {}, "t w/o: ü%'\"?&=").until(2)), (std::vector<std::string>{"b0", "b1"}));
  ASSERT_TRUE(one->remove());
  const auto info = two->info();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->events, 2U);
}

}  // namespace
}  // namespace tenure::conformance
