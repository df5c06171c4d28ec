// How much memory a server can make the parser of its replies allocate. It counts all of the program's `new`, so it is
// a separate program.

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "log/redis/reply_parser.h"
#include "redis/counted_memory.h"

namespace tenure::redis {
namespace {

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
TEST(ReplyMemory, WhatIsAnnouncedTakesNoMemory) {
  EXPECT_LT(cost_of("*16777216\r\n$5\r\nhello\r\n").peak, kMiB);
  EXPECT_LT(cost_of("*65536\r\n:1\r\n").peak, 2 * kMiB);
  std::string nested;
  for (int i = 0; i < 100; ++i) nested += "*60000\r\n";
  EXPECT_LT(cost_of(nested).peak, 2 * kMiB);
  EXPECT_TRUE(cost_of(nested).refused);
  EXPECT_LT(cost_of("$67000000\r\nfew").peak, 2 * kMiB);
  EXPECT_FALSE(cost_of("$67000000\r\nfew").refused);
}

TEST(ReplyMemory, ArraysInArraysAreBounded) {
  std::string deep;
  for (std::size_t i = 0; i < ReplyParser::kDepthMax; ++i) deep += "*1\r\n";
  EXPECT_FALSE(cost_of(deep + ":1\r\n").refused);
  EXPECT_TRUE(cost_of(deep + "*1\r\n:1\r\n").refused);
  EXPECT_FALSE(cost_of(deep + "*0\r\n").refused);
}

TEST(ReplyMemory, ALineHasAnEnd) {
  for (const char* const kind : {"+", "-", ":", "$", "*"}) {
    const Cost cost = cost_of(kind + std::string(20 * kMiB, '1'));
    EXPECT_TRUE(cost.refused) << kind;
    EXPECT_LT(cost.peak, kMiB) << kind;
  }
}

// Whatever comes, no more is kept than a small multiple of it and a constant, and never more than for the largest
// reply.
TEST(ReplyMemory, MemoryFollowsWhatHasCome) {
  std::string smallest = "*" + std::to_string(ReplyParser::kValuesMax) + "\r\n";
  for (std::size_t i = 0; i < ReplyParser::kValuesMax; ++i) smallest += "+\r\n";
  EXPECT_LT(cost_of(smallest).peak, 2 * kMiB + 2 * smallest.size());
  std::string texts = "*40000\r\n";
  for (int i = 0; i < 40'000; ++i) texts += "$100\r\n" + std::string(100, 'x') + "\r\n";
  EXPECT_LT(cost_of(texts).peak, 2 * kMiB + 2 * texts.size());
  const std::string half = "$14000000\r\n" + std::string(7'000'000, 'x');
  EXPECT_LT(cost_of(half).peak, 2 * kMiB + 2 * half.size());
  EXPECT_LT(cost_of(half.substr(0, 1000)).peak, 2 * kMiB);
}

// Were a piece looked at again for each that follows, this would take hours.
TEST(ReplyMemory, TinyPiecesTakeNoLonger) {
  constexpr std::size_t kPieces = kMiB;
  EXPECT_FALSE(cost_of("$" + std::to_string(kPieces) + "\r\n" + std::string(kPieces, 'x') + "\r\n", 1).refused);
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += "+" + std::string(60'000, 'x') + "\r\n";
  EXPECT_FALSE(cost_of(lines, 1).refused);
}

}  // namespace
}  // namespace tenure::redis
