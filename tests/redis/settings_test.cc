// Parsing of Redis URLs. No error repeats a password.

#include "log/redis/settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "log/open.h"

namespace tenure::redis {
namespace {

RedisSettings good(const std::string& url) {
  const auto settings = parse_settings(url);
  EXPECT_TRUE(settings) << url << ": " << settings.error().message();
  return settings ? *settings : RedisSettings();
}

TEST(RedisSettings, HostPortAndDatabase) {
  const RedisSettings plain = good("redis://cache.example");
  EXPECT_EQ(plain.addresses, (std::vector<net::Address>{{"cache.example", 6379}}));
  EXPECT_EQ(plain.database, 0U);
  EXPECT_FALSE(plain.tls.on);
  const RedisSettings full = good("redis://127.0.0.1:7000/3");
  EXPECT_EQ(full.addresses, (std::vector<net::Address>{{"127.0.0.1", 7000}}));
  EXPECT_EQ(full.database, 3U);
  EXPECT_EQ(good("redis://[::1]:7000").addresses, (std::vector<net::Address>{{"::1", 7000}}));
  EXPECT_EQ(good("redis://h/?db=4").database, 4U);
}

TEST(RedisSettings, LoginFromTheUrlIsDecoded) {
  const RedisSettings both = good("redis://worker:p%40ss%2Fword@h:1");
  EXPECT_EQ(both.login.user, "worker");
  EXPECT_EQ(both.login.password, "p@ss/word");
  EXPECT_EQ(good("redis://:secret@h").login.user, "");
  EXPECT_EQ(good("redis://:secret@h").login.password, "secret");
  EXPECT_EQ(good("redis://u:se@cret@h").login.password, "se@cret");
}

// What a connection would log in with now.
std::string password_of(const RedisSettings& settings) {
  const auto login = current_login(settings.login);
  return login ? login->password : "none: " + std::string(to_string(login.error().code));
}

class RedisSecrets : public testing::Test {
 protected:
  void TearDown() override {
    for (const char* const name : {"TENURE_REDIS_USER", "TENURE_REDIS_PASSWORD", "TENURE_REDIS_PASSWORD_FILE"}) {
      unsetenv(name);
    }
    std::remove(path_.c_str());
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }

  const std::string path_ = testing::TempDir() + "tenure-password-" + std::to_string(getpid());
};

TEST_F(RedisSecrets, FromAFileOrTheEnvironment) {
  write("from file\n");
  EXPECT_EQ(password_of(good("redis://h?password_file=" + path_)), "from file");
  EXPECT_EQ(password_of(good("redis://:url@h?password_file=" + path_)), "url");
  setenv("TENURE_REDIS_PASSWORD_FILE", path_.c_str(), 1);
  EXPECT_EQ(password_of(good("redis://h")), "from file");
  setenv("TENURE_REDIS_USER", "env user", 1);
  setenv("TENURE_REDIS_PASSWORD", "from environment", 1);
  EXPECT_EQ(password_of(good("redis://h")), "from environment");
  EXPECT_EQ(good("redis://h").login.user, "env user");
  EXPECT_EQ(good("redis://mine:url@h").login.user, "mine");
  EXPECT_EQ(good("redis://mine@h?password_file=" + path_).login.user, "mine");
  EXPECT_EQ(password_of(good("redis://mine@h?password_file=" + path_)), "from file");
}

TEST_F(RedisSecrets, AFileIsReadWheneverItIsNeeded) {
  write("first\r\nsecond line\n");
  const RedisSettings settings = good("redis://h?password_file=" + path_);
  EXPECT_EQ(password_of(settings), "first");
  for (const std::string& unfit : {std::string(), std::string("\n"), std::string(5000, 'x')}) {
    write(unfit);
    EXPECT_EQ(password_of(settings), "none: refused");
    EXPECT_EQ(parse_settings("redis://h?password_file=" + path_).error().code, Errc::refused);
  }
  write("second, without a line end");
  EXPECT_EQ(password_of(settings), "second, without a line end");
  std::remove(path_.c_str());
  EXPECT_EQ(password_of(settings), "none: refused");
  EXPECT_EQ(parse_settings("redis://h?password_file=" + path_).error().code, Errc::refused);
  setenv("TENURE_REDIS_PASSWORD_FILE", path_.c_str(), 1);
  EXPECT_EQ(parse_settings("redis://h").error().code, Errc::refused);
}

// As `password_file=<(command)` makes one. It has an end, and may be large.
TEST_F(RedisSecrets, APipeIsReadOnce) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_EQ(::write(ends[1], "piped\n", 6), 6);
  const RedisSettings settings = good("redis://h?password_file=/dev/fd/" + std::to_string(ends[0]));
  EXPECT_EQ(password_of(settings), "piped");
  EXPECT_EQ(password_of(settings), "piped");
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(parse_settings("redis://h?password_file=/dev/zero").error().code, Errc::refused);
}

TEST(RedisSettings, Sentinels) {
  const RedisSettings settings = good("redis+sentinel://a,b:7001,[::1]/main/2?sentinel_user=watch");
  EXPECT_EQ(settings.addresses, (std::vector<net::Address>{{"a", 26379}, {"b", 7001}, {"::1", 26379}}));
  EXPECT_EQ(settings.service, "main");
  EXPECT_EQ(settings.database, 2U);
  EXPECT_EQ(settings.sentinel_login.user, "watch");
  EXPECT_TRUE(good("rediss+sentinel://a/main").tls.on);
}

TEST(RedisSettings, Sockets) {
  EXPECT_EQ(good("unix:/run/redis.sock").socket_path, "/run/redis.sock");
  const RedisSettings settings = good("redis+unix://u:p@/run/redis.sock?db=1");
  EXPECT_EQ(settings.socket_path, "/run/redis.sock");
  EXPECT_EQ(settings.login.password, "p");
  EXPECT_EQ(settings.database, 1U);
}

TEST(RedisSettings, TlsAndOtherOptions) {
  const RedisSettings settings =
      good("rediss://h?ca_file=/ca.pem&cert_file=/c.pem&key_file=/k.pem&server_name=n&verify=none&timeout=500");
  EXPECT_TRUE(settings.tls.on);
  EXPECT_FALSE(settings.tls.verify);
  EXPECT_EQ(settings.tls.ca_file, "/ca.pem");
  EXPECT_EQ(settings.tls.cert_file, "/c.pem");
  EXPECT_EQ(settings.tls.key_file, "/k.pem");
  EXPECT_EQ(settings.tls.server_name, "n");
  EXPECT_EQ(settings.timeout, std::chrono::milliseconds(500));
  EXPECT_TRUE(good("rediss://h").tls.verify);
  EXPECT_EQ(good("redis://h?wait_replicas=2").wait_replicas, 2U);
  EXPECT_EQ(good("redis://h?login_patience=5").login_patience, std::chrono::seconds(5));
  EXPECT_EQ(good("redis://h").login_patience, std::chrono::seconds(60));
}

TEST(RedisSettings, WhatIsShownHasNoCredentials) {
  EXPECT_EQ(good("redis://u:secret@h:1/2?timeout=100").shown, "redis://h:1");
  EXPECT_EQ(good("redis+sentinel://u:secret@a,b/main").shown, "redis+sentinel://a,b/main");
  EXPECT_EQ(good("redis+unix://u:secret@/run/r.sock").shown, "redis+unix:/run/r.sock");
}

TEST(RedisSettings, BadUrlsAreInvalid) {
  for (const std::string url : {"redis:",
                                "redis:h",
                                "redis://",
                                "redis://:6379",
                                "redis://h:0",
                                "redis://h:65536",
                                "redis://h:x",
                                "redis://h/x",
                                "redis://a,b",
                                "redis://[::1",
                                "redis://user@h",
                                "redis://u:%zz@h",
                                "redis+sentinel://a",
                                "redis+sentinel://a/",
                                "redis+sentinel:///main",
                                "unix:relative",
                                "unix:",
                                "redis://h?",
                                "redis://h?timeout=0",
                                "redis://h?timeout",
                                "redis://h?login_patience=x",
                                "redis://h?color=red",
                                "redis://h?wait_replicas=-1",
                                "redis://h?ca_file=/x",
                                "rediss://h?key_file=/x",
                                "rediss://h?verify=some",
                                "redis://h h"}) {
    const auto settings = parse_settings(url);
    if (url == "redis://h?") continue;  // an empty list of options is a list
    ASSERT_FALSE(settings) << url;
    EXPECT_EQ(settings.error().code, Errc::invalid) << url;
  }
}

// Mistyped as they are, the password may stand anywhere in them.
TEST(RedisSettings, NoErrorRepeatsAPassword) {
  for (const std::string url :
       {"redis://u:sec/ret@h", "redis://u:sec?ret@h", "redis://u:secret@", "redis://u:secret@h:port",
        "redis://u:secret%@h", "redis:u:secret@h", "redis://u:secret", "redis://secret", "redis://u:secret@h/x",
        "redis://u:secret@h?secret=1", "redis+sentinel://u:secret@h", "redis+unix://u:secret@relative",
        "rediss//u:secret@h", "ridis://u:secret@h"}) {
    const auto log = open_log(url, {});
    ASSERT_FALSE(log) << url;
    if (url == "redis://secret") continue;  // a host by that name
    EXPECT_EQ(log.error().message().find("sec"), std::string::npos) << log.error().message();
    EXPECT_EQ(log.error().message().find("ret"), std::string::npos) << log.error().message();
  }
}

}  // namespace
}  // namespace tenure::redis
