// What a server says, cut into values, however the bytes arrive.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "log/redis/reply_parser.h"
#include "redis/counted_memory.h"

namespace tenure::redis {
namespace {

// All whole replies, with the bytes fed so many at a time.
std::vector<Reply> parse(ReplyParser& parser, const std::string& bytes, std::size_t at_a_time) {
  std::vector<Reply> replies;
  for (std::size_t at = 0; at < bytes.size(); at += at_a_time) {
    parser.feed(BytesView(bytes).substr(at, at_a_time));
    for (;;) {
      Result<std::optional<Reply>> next = parser.next();
      EXPECT_TRUE(next) << next.error().message();
      if (!next || !*next) break;
      replies.push_back(**std::move(next));
    }
  }
  return replies;
}

std::string bulk(const std::string& text) { return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n"; }

TEST(Reply, EveryKindOfValueHoweverItArrives) {
  const std::string bytes = "*6\r\n:-42\r\n" + bulk("text") + "$-1\r\n+OK\r\n-ERR no\r\n*0\r\n";
  for (const std::size_t at_a_time : {std::size_t{1}, std::size_t{2}, std::size_t{7}, bytes.size()}) {
    ReplyParser parser;
    const std::vector<Reply> replies = parse(parser, bytes, at_a_time);
    ASSERT_EQ(replies.size(), 1U) << at_a_time;
    const Value all = replies[0].value();
    ASSERT_TRUE(all.is_array());
    ASSERT_EQ(all.size(), 6U);
    EXPECT_TRUE(all[0].is_integer());
    EXPECT_EQ(all[0].integer(), -42);
    EXPECT_EQ(all[1].text(), "text");
    EXPECT_TRUE(all[2].is_nil());
    EXPECT_EQ(all[3].text(), "OK");
    EXPECT_TRUE(all[4].is_error());
    EXPECT_EQ(all[4].text(), "ERR no");
    EXPECT_TRUE(all[5].is_array());
    EXPECT_EQ(all[5].size(), 0U);
  }
}

TEST(Reply, AValueOfAnotherKindReadsAsNothing) {
  ReplyParser parser;
  const std::vector<Reply> replies = parse(parser, "*2\r\n:7\r\n+seven\r\n", 64);
  ASSERT_EQ(replies.size(), 1U);
  const Value all = replies[0].value();
  EXPECT_EQ(all.text(), "");
  EXPECT_EQ(all.integer(), 0);
  EXPECT_EQ(all[0].text(), "");
  EXPECT_EQ(all[0].size(), 0U);
  EXPECT_EQ(all[1].integer(), 0);
  EXPECT_TRUE(all[2].is_nil());
  EXPECT_TRUE(all[2][0][1].is_nil());
}

// Neither the first piece of memory nor a block is large enough for all of it.
TEST(Reply, LargeValuesAndManyOfThem) {
  std::string bytes = "*1002\r\n" + bulk(std::string(300'000, 'a')) + bulk(std::string(31'000, 'b'));
  for (int i = 0; i < 1000; ++i) bytes += "*2\r\n:" + std::to_string(i) + "\r\n" + bulk("value " + std::to_string(i));
  ReplyParser parser;
  const std::vector<Reply> replies = parse(parser, bytes + bytes, 4096);
  ASSERT_EQ(replies.size(), 2U);
  for (const Reply& reply : replies) {
    const Value all = reply.value();
    ASSERT_EQ(all.size(), 1002U);
    EXPECT_EQ(all[0].text(), std::string(300'000, 'a'));
    EXPECT_EQ(all[1].text(), std::string(31'000, 'b'));
    for (std::size_t i = 0; i < 1000; ++i) {
      ASSERT_EQ(all[i + 2][0].integer(), static_cast<std::int64_t>(i));
      ASSERT_EQ(all[i + 2][1].text(), "value " + std::to_string(i));
    }
  }
}

TEST(Reply, OutlivesItsParserAndMayBeMoved) {
  std::optional<Reply> kept;
  {
    ReplyParser parser;
    std::vector<Reply> replies = parse(parser, "+first\r\n+second\r\n*2\r\n+half of", 5);
    ASSERT_EQ(replies.size(), 2U);
    EXPECT_EQ(replies[0].value().text(), "first");
    kept.emplace(std::move(replies[1]));
  }
  EXPECT_EQ(kept->value().text(), "second");
}

// Nothing of them is waited for: they are refused as soon as it shows.
TEST(Reply, WhatIsNoReplyIsSaid) {
  const std::string many = std::to_string(ReplyParser::kValuesMax + 1);
  const std::string large = std::to_string(ReplyParser::kReplyBytesMax);
  for (const std::string& bytes :
       {std::string("HTTP/1.1 400"), std::string("*2147483647\r\n"), "*" + many + "\r\n", "*2\r\n*" + many + "\r\n",
        "$" + large + "\r\n", std::string("$99999999999999999999\r\n"), std::string("$-2\r\n"), std::string("*-2\r\n"),
        std::string("$x\r\n"), std::string("*\r\n"), std::string(":1x\r\n"), std::string(":\r\n"),
        std::string("$1\r\nabc"), std::string("$1\r\na\rb"), std::string("+lone line feed\n"),
        std::string("*1\r\nx")}) {
    for (const std::size_t at_a_time : {std::size_t{1}, bytes.size()}) {
      ReplyParser parser;
      Result<std::optional<Reply>> next = std::optional<Reply>();
      for (std::size_t at = 0; next && at < bytes.size(); at += at_a_time) {
        parser.feed(BytesView(bytes).substr(at, at_a_time));
        next = parser.next();
        ASSERT_TRUE(!next || !*next) << bytes;
      }
      ASSERT_FALSE(next) << bytes << " by " << at_a_time;
      EXPECT_EQ(next.error().code, Errc::unavailable);
    }
  }
}

// How much memory a parser and its reply take after these bytes, and whether they were refused.
struct Cost {
  std::size_t peak = 0;
  bool refused = false;
};

Cost cost_of(const std::string& bytes, std::size_t at_a_time = 64U << 10) {
  ReplyParser parser;
  test::forget_peak();
  const std::size_t before = test::memory_in_use();
  Cost cost;
  for (std::size_t at = 0; !cost.refused && at < bytes.size(); at += at_a_time) {
    parser.feed(BytesView(bytes).substr(at, at_a_time));
    for (;;) {
      const Result<std::optional<Reply>> next = parser.next();
      cost.refused = !next;
      if (!next || !*next) break;
    }
  }
  cost.peak = test::memory_peak() - before;
  return cost;
}

constexpr std::size_t kMiB = 1U << 20;

// A server that is none of ours, or was taken over, announces much and sends little.
TEST(Reply, WhatIsAnnouncedTakesNoMemory) {
  EXPECT_LT(cost_of("*16777216\r\n$5\r\nhello\r\n").peak, kMiB);
  EXPECT_LT(cost_of("*65536\r\n:1\r\n").peak, 2 * kMiB);
  std::string nested;
  for (int i = 0; i < 100; ++i) nested += "*60000\r\n";
  EXPECT_LT(cost_of(nested).peak, 2 * kMiB);
  EXPECT_TRUE(cost_of(nested).refused);
  EXPECT_LT(cost_of("$67000000\r\nfew").peak, 2 * kMiB);
  EXPECT_FALSE(cost_of("$67000000\r\nfew").refused);
}

TEST(Reply, ArraysInArraysAreBounded) {
  std::string deep;
  for (std::size_t i = 0; i < ReplyParser::kDepthMax; ++i) deep += "*1\r\n";
  EXPECT_FALSE(cost_of(deep + ":1\r\n").refused);
  EXPECT_TRUE(cost_of(deep + "*1\r\n:1\r\n").refused);
  EXPECT_FALSE(cost_of(deep + "*0\r\n").refused);
}

TEST(Reply, ALineHasAnEnd) {
  for (const char* const kind : {"+", "-", ":", "$", "*"}) {
    const Cost cost = cost_of(kind + std::string(20 * kMiB, '1'));
    EXPECT_TRUE(cost.refused) << kind;
    EXPECT_LT(cost.peak, kMiB) << kind;
  }
}

// Whatever comes, no more is kept than a small multiple of it and a constant, and never more than for the largest
// reply.
TEST(Reply, MemoryFollowsWhatHasCome) {
  std::string smallest = "*" + std::to_string(ReplyParser::kValuesMax) + "\r\n";
  for (std::size_t i = 0; i < ReplyParser::kValuesMax; ++i) smallest += "+\r\n";
  EXPECT_LT(cost_of(smallest).peak, 2 * kMiB + 2 * smallest.size());
  std::string texts = "*40000\r\n";
  for (int i = 0; i < 40'000; ++i) texts += "$100\r\n" + std::string(100, 'x') + "\r\n";
  EXPECT_LT(cost_of(texts).peak, 2 * kMiB + 2 * texts.size());
  const std::string half = "$60000000\r\n" + std::string(30'000'000, 'x');
  EXPECT_LT(cost_of(half).peak, 2 * kMiB + 2 * half.size());
  EXPECT_LT(cost_of(half.substr(0, 1000)).peak, 2 * kMiB);
}

// Were a piece looked at again for each that follows, this would take hours.
TEST(Reply, TinyPiecesTakeNoLonger) {
  constexpr std::size_t kPieces = kMiB;
  EXPECT_FALSE(cost_of("$" + std::to_string(kPieces) + "\r\n" + std::string(kPieces, 'x') + "\r\n", 1).refused);
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += "+" + std::string(60'000, 'x') + "\r\n";
  EXPECT_FALSE(cost_of(lines, 1).refused);
}

// As sentinels are held to.
TEST(Reply, ASmallerBoundHolds) {
  ReplyParser parser(1000);
  parser.feed("$2000\r\n");
  EXPECT_FALSE(parser.next());
}

}  // namespace
}  // namespace tenure::redis
