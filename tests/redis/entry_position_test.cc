// Ids of entries as positions of events.

#include "source/redis/entry_position.h"

#include <gtest/gtest.h>

#include <tenure/emit_limits.hpp>

namespace tenure::source::redis {
namespace {

TEST(EntryPosition, IdsAndPositionsAreTheSame) {
  for (const char* const id : {"0-0", "0-1", "1-0", "1763571600000-0", "1763571600000-1048575"}) {
    const auto position = position_of(id);
    ASSERT_TRUE(position) << id;
    EXPECT_EQ(id_at(*position), id);
    EXPECT_LE(*position, kEmitPositionMax);
    EXPECT_EQ(near_position(id), *position);
  }
  EXPECT_LT(*position_of("5-1048575"), *position_of("6-0"));
  EXPECT_EQ(ms_at(*position_of("1763571600000-7")), 1763571600000);
}

TEST(EntryPosition, TheRestIsNone) {
  for (const char* const id : {"", "-", "1", "1-", "-1", "a-1", "1-1048576", "4398046511104-0",
                               "18446744073709551615-18446744073709551615", "1-1 "}) {
    EXPECT_FALSE(position_of(id)) << id;
    EXPECT_LE(near_position(id), kEmitPositionMax);
  }
  EXPECT_EQ(near_position("7-99999999"), *position_of("7-1048575"));
}

}  // namespace
}  // namespace tenure::source::redis
