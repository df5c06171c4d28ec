// Patterns for topics.

#include <gtest/gtest.h>

#include "stream/topic_filter.h"

namespace tenure {
namespace {

TEST(TopicPattern, MatchesWhatItSays) {
  EXPECT_TRUE(matches_pattern("", ""));
  EXPECT_TRUE(matches_pattern("", "*"));
  EXPECT_TRUE(matches_pattern("eu.west", "eu.*"));
  EXPECT_TRUE(matches_pattern("eu.west", "*west"));
  EXPECT_TRUE(matches_pattern("eu.west", "e?.w*t"));
  EXPECT_TRUE(matches_pattern("aab", "*ab"));
  EXPECT_TRUE(matches_pattern("abcabd", "a*abd"));
  EXPECT_TRUE(matches_pattern("a*b", R"(a\*b)"));
  EXPECT_TRUE(matches_pattern(R"(a\)", R"(a\\)"));
  EXPECT_TRUE(matches_pattern(std::string("a\0b", 3), "a?b"));
}

TEST(TopicPattern, RefusesTheRest) {
  EXPECT_FALSE(matches_pattern("a", ""));
  EXPECT_FALSE(matches_pattern("", "?"));
  EXPECT_FALSE(matches_pattern("us.west", "eu.*"));
  EXPECT_FALSE(matches_pattern("eu.west.1", "*west"));
  EXPECT_FALSE(matches_pattern("axb", R"(a\*b)"));
  EXPECT_FALSE(matches_pattern("ab", "a?b"));
}

// A hostile pattern costs no more than the product of the lengths.
TEST(TopicPattern, IsQuick) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "*a";
  EXPECT_FALSE(matches_pattern(std::string(2000, 'a') + "b", pattern + "c"));
}

TEST(TopicFilter, TakesAnyOfItsTopics) {
  const TopicFilter all({}, "");
  EXPECT_TRUE(all.takes(""));
  EXPECT_TRUE(all.takes("x"));
  const TopicFilter some({"eu", "us"}, "a*");
  EXPECT_TRUE(some.takes("eu"));
  EXPECT_TRUE(some.takes("asia"));
  EXPECT_FALSE(some.takes("e"));
  EXPECT_FALSE(some.takes(""));
}

}  // namespace
}  // namespace tenure
