// Redis streams and other programs that use them: what they write, trim, delete and break.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "redis/server.h"
#include "source/stream_url.h"
#include "source_conformance/reading.h"

namespace tenure::conformance {
namespace {

using source::Change;

class RedisStreams : public testing::Test {
 protected:
  std::string url(const std::string& stream = "orders") const { return source::with_stream(server_.url(), stream); }
  Reading read(std::uint64_t after = 0, std::vector<source::Mark> marks = {}) const {
    Reading reading(source::open_source(url()).value());
    EXPECT_TRUE(reading.source().open("0", after, std::move(marks)));
    reading.position = after;
    return reading;
  }
  std::string xadd(const std::vector<std::string>& fields, const std::string& id = "*") const {
    std::vector<std::string> words = {"XADD", "orders", id};
    words.insert(words.end(), fields.begin(), fields.end());
    return server_.command(words);
  }

  RedisServer server_;
};

TEST_F(RedisStreams, FieldsOfOtherProgramsAreTheEvents) {
  xadd({"payload", "p", "key", "k", "topic", "t", "name", "n", "more", "ignored"});
  xadd({"temperature", "21.5", "place", "K\xc3\xb6ln"});
  xadd({"raw", std::string("\xff\x00", 2), "quote", "a\"b"});
  const auto events = read().until(3);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].payload, "p");
  EXPECT_EQ(events[0].key, "k");
  EXPECT_EQ(events[0].topic, "t");
  EXPECT_EQ(events[0].name, "n");
  EXPECT_EQ(events[1].payload, "{\"temperature\":\"21.5\",\"place\":\"K\xc3\xb6ln\"}");
  EXPECT_FALSE(events[1].key.has_value());
  EXPECT_EQ(events[2].payload, R"({"raw_base64":"/wA=","quote":"a\"b"})");
}

TEST_F(RedisStreams, EventsAreReadableByOtherPrograms) {
  const auto stream = source::open_stream_writer(url(), true).value();
  auto event = event_of("p", "k");
  event.topic = "t";
  add(*stream, {event, event_of("q")});
  const std::string all = server_.command({"XRANGE", "orders", "-", "+"});
  EXPECT_NE(all.find("payload p key k topic t"), std::string::npos) << all;
  EXPECT_TRUE(all.ends_with("payload q")) << all;
}

// An entry with hundreds of fields, and many of them.
TEST_F(RedisStreams, EntriesMayHaveManyFields) {
  std::vector<std::string> fields;
  for (int i = 0; i < 2000; ++i) fields.insert(fields.end(), {"field" + std::to_string(i), "v"});
  for (int i = 0; i < 40; ++i) xadd(fields);
  for (int i = 0; i < 2000; ++i) xadd({"payload", std::to_string(i)});
  EXPECT_EQ(read().until(2040).back().payload, "1999");
}

// The entry stops the reader, with a message, and what is in front of it is delivered. Once it is deleted, the reader
// goes on and reports the loss.
TEST_F(RedisStreams, AnIdThatIsNoPositionIsAnError) {
  xadd({"payload", "a"}, "5-1");
  xadd({"payload", "b"}, "6-99999999");
  xadd({"payload", "c"}, "7-1");
  Reading reading = read();
  EXPECT_EQ(payloads(reading.until(1)), std::vector<std::string>{"a"});
  EXPECT_FALSE(reading.next());
  ASSERT_TRUE(reading.error);
  EXPECT_EQ(reading.error->code, Errc::invalid);
  EXPECT_NE(reading.error->context.find("6-99999999"), std::string::npos);
  server_.command({"XDEL", "orders", "6-99999999"});
  while (reading.events.size() < 2 && (reading.next() || reading.error->code == Errc::invalid)) {
  }
  EXPECT_EQ(reading.events.back().payload, "c");
  EXPECT_EQ(reading.losses.size(), 1U);
}

TEST_F(RedisStreams, ATrimByAnotherProgramIsALoss) {
  for (int i = 0; i < 10; ++i) xadd({"payload", std::to_string(i)});
  Reading reading = read();
  reading.until(10);
  // In one step, so that the reader cannot come in between.
  server_.command(
      {"EVAL", "for i = 1, 20 do redis.call('XADD', 'orders', 'MAXLEN', '=', '5', '*', 'payload', i) end", "0"});
  reading.until(15);
  ASSERT_EQ(reading.losses.size(), 1U);
  EXPECT_EQ(reading.losses[0].count, 15U);
  EXPECT_EQ(reading.events.back().payload, "20");
}

TEST_F(RedisStreams, ABoundedStreamLosesNothingForAReaderThatKeepsUp) {
  Reading reading = read();
  for (int i = 0; i < 50; ++i) {
    server_.command({"XADD", "orders", "MAXLEN", "=", "1", "*", "payload", std::to_string(i)});
    while (reading.events.size() < static_cast<std::size_t>(i) + 1 &&
           (reading.next() || reading.error->code == Errc::no_such_key)) {
    }
    ASSERT_EQ(reading.events.back().payload, std::to_string(i));
  }
  EXPECT_TRUE(reading.losses.empty());
}

TEST_F(RedisStreams, ADeletedEntryIsALossForThoseWhoHaveYetToReadIt) {
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(xadd({"payload", std::to_string(i)}));
  Reading first = read();
  first.limits.events = 1;
  first.until(1);
  server_.command({"XDEL", "orders", ids[2]});
  Reading second = read(first.position, {source::mark_of(first.events[0])});
  EXPECT_EQ(payloads(second.until(3)), (std::vector<std::string>{"1", "3", "4"}));
  ASSERT_EQ(second.losses.size(), 1U);
  EXPECT_EQ(second.losses[0].count, 1U);
  EXPECT_TRUE(second.changes.empty());
}

TEST_F(RedisStreams, AKeyOfAnotherKindIsRefused) {
  server_.command({"SET", "orders", "text"});
  EXPECT_EQ(code_of(source::open_stream_writer(url(), true)), Errc::refused);
  const auto source = source::open_source(url()).value();
  EXPECT_EQ(code_of(source->ends("0")), Errc::refused);
}

TEST_F(RedisStreams, AReaderOutlivesItsServer) {
  const auto stream = source::open_stream_writer(url(), true).value();
  add(*stream, events_of("old", 3));
  Reading reading = read();
  reading.until(3);
  server_.kill();
  const Errc refused = code_of(stream->add({event_of("x")}));
  EXPECT_TRUE(refused == Errc::unavailable || refused == Errc::unknown)
      << "it may have been sent before the death was known";
  server_.restart();
  // The server kept nothing.
  const auto again = source::open_stream_writer(url(), true).value();
  add(*again, events_of("new", 2));
  while (reading.events.size() < 5 && (reading.next() || reading.error->code == Errc::no_such_key)) {
  }
  ASSERT_EQ(reading.events.size(), 5U);
  EXPECT_EQ(reading.events[3].payload, "new0");
  EXPECT_EQ(reading.changes, std::vector<Change>{Change::anew});
}

// A server that comes back with nothing has another stream, also for a reader that was there all the time.
TEST_F(RedisStreams, AServerThatLostEverythingHasAnotherStream) {
  for (int i = 0; i < 5; ++i) xadd({"payload", std::to_string(i)});
  Reading reading = read();
  reading.until(5);
  server_.command({"FLUSHALL"});
  for (int i = 0; i < 3; ++i) xadd({"payload", "new" + std::to_string(i)});
  while (reading.events.size() < 8 && (reading.next() || reading.error->code == Errc::no_such_key)) {
  }
  ASSERT_EQ(reading.events.size(), 8U);
  EXPECT_EQ(reading.events[5].payload, "new0");
  EXPECT_EQ(reading.changes, std::vector<Change>{Change::anew});
}

// A failover to a server that lacks the last entries, and gets other ones.
TEST_F(RedisStreams, ATailThatAFailoverLostIsNoticed) {
  for (int i = 0; i < 5; ++i) xadd({"payload", std::to_string(i)}, std::to_string(i + 1) + "-0");
  const std::string copy = server_.command({"DUMP", "orders"});
  for (int i = 5; i < 8; ++i) xadd({"payload", std::to_string(i)}, std::to_string(i + 1) + "-0");
  Reading reading = read();
  reading.until(8);
  server_.command({"RESTORE", "orders", "0", copy, "REPLACE"});
  for (int i = 0; i < 5; ++i) xadd({"payload", "other" + std::to_string(i)}, std::to_string(i + 7) + "-5");
  Reading next = read(reading.position, {source::mark_of(reading.events[2]), source::mark_of(reading.events[4]),
                                         source::mark_of(reading.events[7])});
  const auto events = next.until(5);
  EXPECT_EQ(next.changes, std::vector<Change>{Change::cut});
  EXPECT_EQ(events.front().payload, "other0");
}

// The manual names all commands that a user needs.
TEST_F(RedisStreams, TheRightsOfTheManualAreEnough) {
  std::ifstream file(std::string(TENURE_DOCS) + "/streams.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string manual = text.str();
  const std::size_t begin = manual.find("commands `evalsha`");
  ASSERT_NE(begin, std::string::npos);
  std::vector<std::string> rule = {"ACL", "SETUSER", "worker", "on", ">secret", "~orders", "~tenure:stream:{orders}"};
  std::istringstream list(manual.substr(begin, manual.find(". With", begin) - begin));
  for (std::string word; std::getline(list, word, '`') && std::getline(list, word, '`');) rule.push_back("+" + word);
  EXPECT_EQ(server_.command(rule), "OK");
  const std::string mine =
      source::with_stream("redis://worker:secret@127.0.0.1:" + std::to_string(server_.port()), "orders");
  const auto stream = source::open_stream_writer(mine, true).value();
  ASSERT_TRUE(stream->set_limits({.events_max = 5, .at_bound = source::StreamLimits::AtBound::drop_oldest}));
  add(*stream, events_of("e", 3));
  Reading reading(source::open_source(mine).value());
  ASSERT_TRUE(reading.source().open("0", 0, {}));
  reading.until(3);
  ASSERT_TRUE(stream->set_limits({}));
  ASSERT_TRUE(stream->trim(reading.position));
  const auto info = stream->info();
  ASSERT_TRUE(info) << info.error().message();
  EXPECT_GT(info->bytes, 0U);
  EXPECT_TRUE(stream->remove());
}

}  // namespace
}  // namespace tenure::conformance
