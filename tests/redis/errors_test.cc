// Translation of a server's error replies into errors of the port.

#include "log/redis/errors.h"

#include <gtest/gtest.h>

namespace tenure::redis {
namespace {

Verdict of(std::string_view reply) { return judge(reply, "append", "redis://h:1"); }

TEST(RedisErrors, AFullServerIsFullAndSaysSo) {
  const Verdict oom = of("OOM command not allowed when used memory > 'maxmemory'. script: 4b1d, on @user_script:10.");
  EXPECT_EQ(oom.error.code, Errc::full);
  EXPECT_FALSE(oom.reconnect);
  EXPECT_EQ(
      oom.error.message(),
      "redis append: full (redis://h:1: OOM command not allowed when used memory > 'maxmemory'.; raise maxmemory, "
      "or free memory; nothing was written)");
}

TEST(RedisErrors, AServerThatIsNoMasterNowIsLeft) {
  for (const std::string_view reply :
       {"READONLY You can't write against a read only replica.", "LOADING Redis is loading",
        "MASTERDOWN Link with MASTER is down", "UNBLOCKED force unblock", "NOSCRIPT No matching script",
        "ERR max number of clients reached", "MOVED 1 h:2", "ASK 1 h:2"}) {
    EXPECT_EQ(of(reply).error.code, Errc::unavailable) << reply;
    EXPECT_TRUE(of(reply).reconnect) << reply;
  }
}

TEST(RedisErrors, WhatTryingAgainDoesNotMendIsRefused) {
  for (const std::string_view reply :
       {"NOAUTH Authentication required.", "WRONGPASS invalid", "NOPERM this user has no permissions",
        "WRONGTYPE Operation", "ERR unknown command", "nonsense", ""}) {
    EXPECT_EQ(of(reply).error.code, Errc::refused) << reply;
  }
}

TEST(RedisErrors, TheScriptsOwnWords) {
  EXPECT_EQ(of("TENURE-LOST gone").error.code, Errc::lost_history);
  EXPECT_EQ(of("TENURE-LOST gone").error.context, "redis://h:1: gone");
  EXPECT_EQ(of("TENURE-CORRUPT x").error.code, Errc::corrupt);
  EXPECT_EQ(of("TENURE-FOREIGN x").error.code, Errc::refused);
}

}  // namespace
}  // namespace tenure::redis
