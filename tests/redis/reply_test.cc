// A server's replies are parsed into values, in whatever pieces the bytes arrive.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "log/redis/reply_parser.h"

namespace tenure::redis {
namespace {

// All complete replies, with the bytes fed in pieces of this size.
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

// As sentinels are held to.
TEST(Reply, ASmallerBoundHolds) {
  ReplyParser parser(1000);
  parser.feed("$2000\r\n");
  EXPECT_FALSE(parser.next());
}

}  // namespace
}  // namespace tenure::redis
