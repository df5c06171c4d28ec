// The public streams and their readers, on every kind of source.

#include <gtest/gtest.h>

#include <set>
#include <tenure/stream_reader.hpp>
#include <thread>

#include "source_conformance/engine.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

class StreamReaders : public testing::TestWithParam<TestSource> {
 protected:
  std::string engine() { return place_->engine(); }
  std::string name_of(const std::string& stream) { return place_->name_of(stream); }
  Stream open(const std::string& name) {
    place_->url(name);  // a stream in memory lives with its place
    return Stream::open(engine(), name_of(name)).value();
  }
  StreamReader follow(const std::vector<std::string>& streams, const StreamReaderOptions& options = {}) {
    std::vector<std::string> names;
    for (const std::string& stream : streams) names.push_back(name_of(stream));
    return StreamReader::open(engine(), names, options).value();
  }

 private:
  std::unique_ptr<StreamPlace> place_ = GetParam().make_place();
};

constexpr StreamStart kOldest{.at = StreamStart::At::oldest};

std::string payload_of(const Result<StreamItem>& item) {
  if (!item) return "error: " + item.error().message();
  const auto* const event = std::get_if<StreamEvent>(&*item);
  return event == nullptr ? "no event" : event->payload;
}

TEST_P(StreamReaders, EventsComeBackAsTheyWereAdded) {
  Stream stream = open("orders");
  const auto at = stream.add({.name = "placed", .topic = "eu", .key = "customer", .payload = std::string("a\0b", 3)});
  ASSERT_TRUE(at) << at.error().message();
  StreamReader reader = follow({"orders"}, {.start = kOldest});
  const auto item = reader.next(10s);
  ASSERT_TRUE(item) << item.error().message();
  const auto& event = std::get<StreamEvent>(*item);
  EXPECT_EQ(event.name, "placed");
  EXPECT_EQ(event.topic, "eu");
  EXPECT_EQ(event.key, "customer");
  EXPECT_EQ(event.payload, std::string("a\0b", 3));
  EXPECT_EQ(event.position, *at);
  EXPECT_EQ(event.stream, name_of("orders"));
  EXPECT_EQ(event.partition, "0");
}

// A reader that starts at the newest event misses none that is added after it was opened, whenever it reads.
TEST_P(StreamReaders, NothingIsLostBetweenTwoReads) {
  Stream stream = open("orders");
  ASSERT_TRUE(stream.add({.payload = "old"}));
  StreamReader reader = follow({"orders"});
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(stream.add({.payload = std::to_string(2 * i)}));
    ASSERT_TRUE(stream.add({.payload = std::to_string(2 * i + 1)}));
    EXPECT_EQ(payload_of(reader.next(10s)), std::to_string(2 * i));
    EXPECT_EQ(payload_of(reader.next(10s)), std::to_string(2 * i + 1));
  }
  EXPECT_EQ(code_of(reader.next(0ms)), Errc::timed_out);
}

TEST_P(StreamReaders, AReaderFollowsSeveralStreams) {
  Stream one = open("one");
  Stream two = open("two");
  StreamReader reader = follow({"one", "two"}, {.start = kOldest});
  std::set<std::string> expected;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(one.add({.payload = "one" + std::to_string(i)}));
    ASSERT_TRUE(two.add({.payload = "two" + std::to_string(i)}));
    expected.insert("one" + std::to_string(i));
    expected.insert("two" + std::to_string(i));
  }
  std::set<std::string> seen;
  while (seen.size() < 20) {
    const auto item = reader.next(10s);
    ASSERT_TRUE(item) << item.error().message();
    const auto& event = std::get<StreamEvent>(*item);
    EXPECT_EQ(event.stream, name_of(event.payload.substr(0, 3)));
    seen.insert(event.payload);
  }
  EXPECT_EQ(seen, expected);
  EXPECT_FALSE(StreamReader::open(engine(), {name_of("one"), name_of("one")}));
  EXPECT_FALSE(StreamReader::open(engine(), {}));
}

// Events that the filter passes over count as read, so that the next reader does not meet them again.
TEST_P(StreamReaders, AFilterPassesOverTheRest) {
  Stream stream = open("orders");
  for (const char* topic : {"eu", "us", "asia.east", "us", "asia.west", "us"}) {
    ASSERT_TRUE(stream.add({.topic = topic, .payload = topic}));
  }
  const StreamReaderOptions some{.start = kOldest, .topics = {"eu"}, .topic_pattern = "asia.*"};
  StreamReader reader = follow({"orders"}, some);
  EXPECT_EQ(payload_of(reader.next(10s)), "eu");
  EXPECT_EQ(payload_of(reader.next(10s)), "asia.east");
  EXPECT_EQ(payload_of(reader.next(10s)), "asia.west");
  const std::uint64_t last = stream.state().value().last;
  while (reader.positions().at(0).position < last) {
    const auto item = reader.next(100ms);
    ASSERT_FALSE(item) << payload_of(item);
    ASSERT_EQ(item.error().code, Errc::timed_out);
  }
  StreamReader next = follow({"orders"}, {.resume = reader.positions()});
  ASSERT_TRUE(stream.add({.topic = "us", .payload = "new"}));
  EXPECT_EQ(payload_of(next.next(10s)), "new");
}

TEST_P(StreamReaders, ALaterReaderGoesOnWhereOneStopped) {
  Stream stream = open("orders");
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(stream.add({.payload = std::to_string(i)}));
  std::vector<StreamPosition> positions;
  {
    StreamReader reader = follow({"orders"}, {.start = kOldest});
    for (int i = 0; i < 4; ++i) EXPECT_EQ(payload_of(reader.next(10s)), std::to_string(i));
    positions = reader.positions();
  }
  StreamReader reader = follow({"orders"}, {.resume = positions});
  for (int i = 4; i < 10; ++i) EXPECT_EQ(payload_of(reader.next(10s)), std::to_string(i));
}

// A bound that drops events, or a trim, is never silent for one who had yet to read them.
TEST_P(StreamReaders, ALossIsReported) {
  Stream stream = open("orders");
  std::vector<std::uint64_t> at;
  for (int i = 0; i < 10; ++i) at.push_back(stream.add({.payload = std::to_string(i)}).value());
  std::vector<StreamPosition> positions;
  {
    StreamReader reader = follow({"orders"}, {.start = kOldest});
    EXPECT_EQ(payload_of(reader.next(10s)), "0");
    EXPECT_EQ(payload_of(reader.next(10s)), "1");
    positions = reader.positions();
  }
  ASSERT_TRUE(stream.trim(at[5]));
  StreamReader reader = follow({"orders"}, {.resume = positions});
  const auto item = reader.next(10s);
  ASSERT_TRUE(item) << item.error().message();
  const auto* const lost = std::get_if<StreamLoss>(&*item);
  ASSERT_NE(lost, nullptr);
  EXPECT_GT(lost->first, at[1]);
  EXPECT_LE(lost->first, at[2]);
  EXPECT_GE(lost->last, at[4]);
  EXPECT_LT(lost->last, at[5]);
  EXPECT_GE(lost->count, 3U);
  EXPECT_EQ(payload_of(reader.next(10s)), "5");
}

TEST_P(StreamReaders, AStreamThatIsMadeAgainIsReported) {
  Stream stream = open("orders");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream.add({.payload = std::to_string(i)}));
  std::vector<StreamPosition> positions;
  {
    StreamReader reader = follow({"orders"}, {.start = kOldest});
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(reader.next(10s));
    positions = reader.positions();
  }
  ASSERT_TRUE(stream.remove());
  Stream again = open("orders");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(again.add({.payload = "new" + std::to_string(i)}));
  StreamReader reader = follow({"orders"}, {.resume = positions});
  const auto item = reader.next(10s);
  ASSERT_TRUE(item) << item.error().message();
  const auto* const change = std::get_if<StreamChange>(&*item);
  ASSERT_NE(change, nullptr);
  EXPECT_TRUE(change->anew);
  EXPECT_EQ(payload_of(reader.next(10s)), "new0");
}

TEST_P(StreamReaders, AStopEndsAWait) {
  Stream stream = open("orders");
  StreamReader reader = follow({"orders"});
  std::thread stopper([&] { reader.stop(); });
  EXPECT_EQ(code_of(reader.next(60s)), Errc::closed);
  stopper.join();
  EXPECT_EQ(code_of(reader.next(60s)), Errc::closed);
}

// A reader that is slow holds a bounded number of events, and misses none.
TEST_P(StreamReaders, ASlowReaderMissesNothing) {
  Stream stream = open("orders");
  std::vector<StreamEvent> events;
  for (int i = 0; i < 3000; ++i) events.push_back({.payload = std::to_string(i)});
  ASSERT_TRUE(stream.add_all(events));
  StreamReader reader = follow({"orders"}, {.start = kOldest, .buffered_max = 8});
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(payload_of(reader.next(10s)), std::to_string(i));
}

TEST_P(StreamReaders, AStreamThatIsNotThereIsAnError) {
  EXPECT_EQ(code_of(StreamReader::open(engine(), {name_of("nothing")})), Errc::no_such_key);
  EXPECT_EQ(code_of(Stream::open(engine(), name_of("nothing"), {.create = false})), Errc::no_such_key);
  EXPECT_EQ(code_of(Stream::open(engine(), "")), Errc::invalid);
  EXPECT_EQ(code_of(Stream::open("nonsense", "x")), Errc::invalid);
}

// A stream that is removed is an error of next(), and the reader goes on with the next one of this name.
TEST_P(StreamReaders, AReaderOutlivesItsStream) {
  Stream stream = open("orders");
  ASSERT_TRUE(stream.add({.payload = "old"}));
  StreamReader reader = follow({"orders"}, {.start = kOldest});
  EXPECT_EQ(payload_of(reader.next(10s)), "old");
  ASSERT_TRUE(stream.remove());
  EXPECT_EQ(code_of(reader.next(10s)), Errc::no_such_key);
  Stream again = open("orders");
  ASSERT_TRUE(again.add({.payload = "new"}));
  bool changed = false;
  for (;;) {
    const auto item = reader.next(10s);
    if (!item && item.error().code == Errc::no_such_key) continue;
    ASSERT_TRUE(item) << item.error().message();
    if (const auto* const event = std::get_if<StreamEvent>(&*item)) {
      EXPECT_EQ(event->payload, "new");
      break;
    }
    changed = changed || std::holds_alternative<StreamChange>(*item);
  }
  EXPECT_TRUE(changed);
}

TEST_P(StreamReaders, ABoundIsKept) {
  if (!GetParam().limits) GTEST_SKIP() << "streams are not bounded";
  Stream stream = open("orders");
  ASSERT_TRUE(stream.set_bound({.events_max = 2}));
  ASSERT_TRUE(stream.add_all(std::vector<StreamEvent>(2)));
  EXPECT_EQ(code_of(stream.add(StreamEvent())), Errc::pool_full);
  ASSERT_TRUE(stream.set_bound({.events_max = 2, .policy = StreamBound::Policy::drop_oldest}));
  ASSERT_TRUE(stream.add({.payload = "new"}));
  const auto state = stream.state();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->events, 2U);
  EXPECT_EQ(state->bound.events_max, 2U);
  EXPECT_EQ(state->bound.policy, StreamBound::Policy::drop_oldest);
}

std::string name_of_reader(const testing::TestParamInfo<TestSource>& tested) { return tested.param.name; }

INSTANTIATE_TEST_SUITE_P(Kinds, StreamReaders, testing::ValuesIn(test_sources()), name_of_reader);

}  // namespace
}  // namespace tenure::conformance
