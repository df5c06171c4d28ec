// A password that was typed in a URL is neither repeated nor left on the command line.

#include "base/mask_login.h"

#include <gtest/gtest.h>

namespace tenure {
namespace {

TEST(MaskLogin, HidesWhatStandsBeforeTheHost) {
  EXPECT_EQ(mask_logins("redis://u:secret@h:1/2?x=y"), "redis://***@h:1/2?x=y");
  EXPECT_EQ(mask_logins("'redis://:secret@h' is one word too many"), "'redis://***@h' is one word too many");
  EXPECT_EQ(mask_logins("--pool: a://u:s@h  b://u:s@i"), "--pool: a://***@h  b://***@i");
  EXPECT_EQ(mask_logins("redis+unix://u:secret@/run/redis"), "redis+unix://***@/run/redis");
}

TEST(MaskLogin, HidesRatherTooMuch) {
  EXPECT_EQ(mask_logins("redis://u:sec@ret@h"), "redis://***@h");   // should have been escaped
  EXPECT_EQ(mask_logins("redis://u:sec/ret?@h"), "redis://***@h");  // likewise
  EXPECT_EQ(mask_logins("redis:u:secret@h"), "***@h");              // the slashes were forgotten
  EXPECT_EQ(mask_logins("u:secret@h"), "***@h");
}

TEST(MaskLogin, LeavesTheRestAlone) {
  for (const char* text : {"", "jobs", "a@b", "http://h/path", "sqlite:/a/b?sync=off", " two  blanks ", "a@b:c"}) {
    EXPECT_EQ(mask_logins(text), text);
  }
}

TEST(MaskLogin, OverwritesAnArgument) {
  std::string argument = "--engine=redis://u:secret@h:1";
  mask_login_in_place(argument.data());
  EXPECT_EQ(argument, "--engine=redis://********@h:1");
  std::string key = "user:mail@host";  // no URL: it is not touched
  mask_login_in_place(key.data());
  EXPECT_EQ(key, "user:mail@host");
}

}  // namespace
}  // namespace tenure
