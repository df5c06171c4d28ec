// What the next holder of a source sends to which shard, after whatever the last one has left behind.

#include "node/sources/source_book.h"

#include <gtest/gtest.h>

#include <string>

namespace tenure {
namespace {

using Part = SourceBook::Part;

// The shard of a key is its first digit.
std::uint32_t digit(BytesView key) { return static_cast<std::uint32_t>(key.front() - '0'); }

Emission emission(std::uint64_t position, const std::vector<std::pair<std::uint64_t, Bytes>>& tasks) {
  Emission made{.source = "s", .position = position};
  for (const auto& [at, key] : tasks) made.tasks.push_back({.key = key, .position = at});
  return made;
}

SourceBook book_at(const std::vector<std::uint64_t>& positions) {
  SourceBook book(static_cast<std::uint32_t>(positions.size()));
  for (std::uint32_t shard = 0; shard < positions.size(); ++shard) book.heard(shard, positions[shard]);
  EXPECT_TRUE(book.all_heard());
  return book;
}

TEST(SourceBook, GoesOnFromTheLowestShard) {
  EXPECT_EQ(book_at({7, 3, 9}).position(), 3U);
  EXPECT_EQ(book_at({0}).position(), 0U);
}

TEST(SourceBook, AShardGetsOnlyItsOwnTasksAndOnlyNewOnes) {
  SourceBook book = book_at({7, 3});
  const auto parts = book.plan(emission(10, {{4, "0a"}, {5, "1b"}, {8, "0c"}, {0, "1d"}}), digit);
  ASSERT_EQ(parts.size(), 2U);
  ASSERT_EQ(parts[0].tasks.size(), 1U) << "it has what lies at or below seven";
  EXPECT_EQ(parts[0].tasks[0].key, "0c");
  EXPECT_EQ(parts[0].after, 7U);
  ASSERT_EQ(parts[1].tasks.size(), 2U);
  EXPECT_EQ(parts[1].after, 3U);
  EXPECT_EQ(parts[1].tasks[1].position, 10U) << "a task without a position has that of its emit";
}

TEST(SourceBook, AShardWithoutTasksIsToldNowAndThen) {
  SourceBook book = book_at({0, 0});
  std::size_t told = 0;
  for (std::uint64_t position = 1; position <= 2 * kTellEvery; ++position) {
    for (const Part& part : book.plan(emission(position, {{0, "0"}}), digit)) {
      if (part.shard == 1) {
        EXPECT_FALSE(part.awaited);
        EXPECT_TRUE(part.tasks.empty());
        EXPECT_EQ(part.position, position);
        ++told;
      }
      book.taken(part.shard, part.position);
    }
    book.emitted(position);
  }
  EXPECT_EQ(told, 2U);
}

TEST(SourceBook, WhatShardsDoNotKnowIsToldWhenTheSourceRests) {
  SourceBook book = book_at({0, 0});
  EXPECT_TRUE(book.untold().empty());
  for (const Part& part : book.plan(emission(5, {{0, "0"}}), digit)) book.taken(part.shard, part.position);
  book.emitted(5);
  const std::vector<Part> untold = book.untold();
  ASSERT_EQ(untold.size(), 1U);
  EXPECT_EQ(untold[0].shard, 1U);
  EXPECT_EQ(untold[0].position, 5U);
  book.taken(1, 5);
  EXPECT_TRUE(book.untold().empty());
}

TEST(SourceBook, TheOnlyShardHearsOfEveryEmit) {
  SourceBook book = book_at({0});
  const auto parts = book.plan(emission(5, {}), digit);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_TRUE(parts[0].awaited);
}

// One shard had no room. The same emit goes to that shard alone.
TEST(SourceBook, ARepeatedEmitGoesOnlyWhereItIsMissing) {
  SourceBook book = book_at({0, 0});
  (void)book.plan(emission(5, {{0, "0"}, {0, "1"}}), digit);
  book.taken(0, 5);
  EXPECT_EQ(book.position(), 0U);
  const auto parts = book.plan(emission(5, {{0, "0"}, {0, "1"}}), digit);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].shard, 1U);
}

TEST(SourceBook, NoticesAShardThatHasGoneBack) {
  SourceBook book = book_at({0, 0});
  for (const Part& part : book.plan(emission(5, {{0, "0"}, {0, "1"}}), digit)) book.taken(part.shard, part.position);
  book.emitted(5);
  book.doubt();
  EXPECT_FALSE(book.known());
  book.heard(0, 5);
  book.heard(1, 2);
  EXPECT_FALSE(book.all_heard());
  EXPECT_EQ(book.position(), 2U);
}

// Such a shard is behind in the log, but nothing is missing in it.
TEST(SourceBook, AShardThatWasNotToldHasNotGoneBack) {
  SourceBook book = book_at({0, 0});
  for (const Part& part : book.plan(emission(5, {{0, "0"}}), digit)) book.taken(part.shard, part.position);
  book.emitted(5);
  book.doubt();
  book.heard(0, 5);
  book.heard(1, 0);
  EXPECT_TRUE(book.all_heard());
  EXPECT_EQ(book.position(), 5U);
}

}  // namespace
}  // namespace tenure
