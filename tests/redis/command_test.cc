// The bytes of encoded commands.

#include "log/redis/command.h"

#include <gtest/gtest.h>

namespace tenure::redis {
namespace {

TEST(RedisCommand, IsAnArrayOfWords) {
  EXPECT_EQ(command({"PING"}), "*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(command({"SET", "", std::string_view("a\0\r\n", 4)}),
            Bytes("*3\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\na\0\r\n\r\n", 29));
  const std::string large(100'000, 'x');
  EXPECT_EQ(command({large}), "*1\r\n$100000\r\n" + large + "\r\n");
}

TEST(RedisCommand, TheLastWordMayBeMadeOfTwo) {
  EXPECT_EQ(command({"ECHO"}, "front", "back"), command({"ECHO", "frontback"}));
  EXPECT_EQ(command({"ECHO"}, "", ""), command({"ECHO", ""}));
}

}  // namespace
}  // namespace tenure::redis
