// Conversion of a stream's ids to positions and back.

#include "log/redis/entry_id.h"

#include <gtest/gtest.h>

namespace tenure::redis {
namespace {

TEST(RedisEntryId, GoesThereAndBack) {
  for (const char* id : {"0-0", "0-1", "1-0", "1794886696533-0", "1794886696533-4194303", "4398046511103-4194303"}) {
    const std::optional<Position> position = parse_id(id);
    ASSERT_TRUE(position) << id;
    EXPECT_EQ(id_of(*position), id);
  }
  EXPECT_EQ(time_of(*parse_id("1794886696533-7")), 1794886696533);
}

TEST(RedisEntryId, PositionsHaveTheOrderOfIds) {
  EXPECT_LT(*parse_id("1-4194303"), *parse_id("2-0"));
  EXPECT_LT(*parse_id("2-0"), *parse_id("2-1"));
}

TEST(RedisEntryId, WhatDoesNotFitIsNone) {
  for (const char* id : {"", "-", "1", "1-", "-1", "1-x", "x-1", "1-1-1", "+1-1", "1-4194304", "4398046511104-0",
                         "18446744073709551616-0"}) {
    EXPECT_FALSE(parse_id(id)) << id;
  }
}

TEST(RedisEntryId, HalfACountIsACrowd) {
  EXPECT_FALSE(is_crowded(*parse_id("5-2097151")));
  EXPECT_TRUE(is_crowded(*parse_id("5-2097152")));
}

}  // namespace
}  // namespace tenure::redis
