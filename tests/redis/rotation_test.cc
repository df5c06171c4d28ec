// Passwords and certificates are replaced while a log is open, on a real server that is reconfigured at run time.

#include <filesystem>
#include <fstream>
#include <mutex>

#include "redis/place.h"
#include "redis/tls.h"

namespace tenure::conformance {
namespace {

class RedisRotation : public testing::Test {
 protected:
  void SetUp() override {
    set_password("first");
    write("first");
  }
  void set_password(const std::string& password) const {
    const std::string answer =
        server_.command({"ACL", "SETUSER", "worker", "on", "resetpass", ">" + password, "~*", "&*", "+@all"});
    ASSERT_EQ(answer, "OK");
  }
  // As an atomic replacement.
  void write(const std::string& password) const {
    std::ofstream(path() + ".new") << password << '\n';
    std::filesystem::rename(path() + ".new", path());
  }
  void break_connections() const { server_.command({"CLIENT", "KILL", "USER", "worker"}); }
  std::string path() const { return directory_.path() + "/password"; }
  std::string url(const std::string& more = "") const {
    return "redis://worker@127.0.0.1:" + std::to_string(server_.port()) + "?password_file=" + path() + more;
  }

  const RedisServer server_;
  const TemporaryDirectory directory_;
};

// The server's password first, then the file's: what lies in between is waited out on all three connections.
TEST_F(RedisRotation, AnOpenLogGoesOnWithTheNewPassword) {
  const auto log = open_at(url());
  const Entry first = put(*log, "first");
  set_password("second");
  ASSERT_TRUE(append(*log, "old connections stay"));
  break_connections();
  Errc code{};
  for (const Lane lane : {Lane::data, Lane::beat}) {
    do {  // what was under way may be in doubt, and a connection that rests says why it does
      code = code_of(append(*log, "x", lane));
      ASSERT_TRUE(code == Errc::unavailable || code == Errc::unknown);
    } while (code == Errc::unknown);
  }
  EXPECT_EQ(code_of(try_open(url())), Errc::refused);  // opening fails at once
  write("second");
  ASSERT_TRUE(insist_append(*log, "second"));
  ASSERT_TRUE(insist([&] { return append(*log, "beat", Lane::beat); }));
  ASSERT_TRUE(insist_read(*log, Cursor::at(first)));
  ASSERT_TRUE(open_at(url()));
}

// Truncated, then written: a connection may be made at any moment in between.
TEST_F(RedisRotation, AFileMayBeWrittenInPlace) {
  const auto log = open_at(url());
  put(*log, "first");
  set_password("second");
  std::ofstream file(path(), std::ios::trunc);
  break_connections();
  while (code_of(append(*log, "x")) != Errc::unavailable) {
  }
  file << "sec" << std::flush;
  while (code_of(append(*log, "x")) != Errc::unavailable) {
  }
  file << "ond\n" << std::flush;
  ASSERT_TRUE(insist_append(*log, "y"));
}

TEST_F(RedisRotation, ARefusalThatLastsIsOneInTheEnd) {
  const auto log = open_at(url("&login_patience=1"));
  put(*log, "first");
  set_password("second");
  break_connections();
  const auto refused = insist_append(*log, "x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused) << refused.error().message();
  EXPECT_NE(refused.error().context.find("login_patience"), std::string::npos) << refused.error().message();
}

TEST_F(RedisRotation, AUserThatWasDisabledComesBack) {
  const auto log = open_at(url());
  put(*log, "first");
  server_.command({"ACL", "SETUSER", "worker", "off"});
  break_connections();
  while (code_of(append(*log, "x")) != Errc::unavailable) {
  }
  server_.command({"ACL", "SETUSER", "worker", "on"});
  ASSERT_TRUE(insist_append(*log, "y"));
}

class RedisTlsRotation : public RedisTls {
 protected:
  std::string mutual() const {
    return url("localhost",
               "ca_file=" + file("ca.pem") + "&cert_file=" + file("client.pem") + "&key_file=" + file("client.key"));
  }
  static void reload(const RedisServer& server, const RedisTlsRotation& place) {
    ASSERT_EQ(server.command({"CONFIG", "SET", "tls-cert-file", place.file("server.pem"), "tls-key-file",
                              place.file("server.key"), "tls-ca-cert-file", place.file("ca.pem")}),
              "OK");
  }
};

// Another authority has signed both sides' new certificates.
TEST_F(RedisTlsRotation, AnOpenLogGoesOnWithNewCertificates) {
  const RedisServer server(options("yes"));
  const auto log = open_at(mutual());
  put(*log, "first");
  make_all();
  reload(server, *this);
  server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  ASSERT_TRUE(insist_append(*log, "second"));
  ASSERT_TRUE(insist([&] { return append(*log, "beat", Lane::beat); }));
}

// The server's new certificate is there before our file of whom to trust: not trusted, until it is replaced.
TEST_F(RedisTlsRotation, ACertificateThatIsNotTrustedYetIsBorne) {
  const RedisServer server(options("no"));
  std::filesystem::copy_file(file("ca.pem"), file("trusted.pem"));
  const auto log = open_at(url("localhost", "ca_file=" + file("trusted.pem")));
  put(*log, "first");
  make_all();
  reload(server, *this);
  server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  for (Errc code{}; code != Errc::unavailable;) {
    const auto refused = append(*log, "x");
    ASSERT_FALSE(refused);
    code = refused.error().code;
    ASSERT_NE(code, Errc::refused) << refused.error().message();
  }
  std::filesystem::copy_file(file("ca.pem"), file("trusted.pem"), std::filesystem::copy_options::overwrite_existing);
  ASSERT_TRUE(insist_append(*log, "second"));
}

// A certificate without its key, and a file that is not one, change nothing, and are reported once.
TEST_F(RedisTlsRotation, FilesOfNoUseLeaveTheOldOnesInUse) {
  const RedisServer server(options("yes"));
  std::mutex mutex;
  std::vector<std::string> said;
  const auto log = open_log(mutual(), {.pool = "default", .warn = [&](const Error& error) {
                                         const std::lock_guard lock(mutex);
                                         said.push_back(error.message());
                                       }});
  ASSERT_TRUE(log) << log.error().message();
  put(**log, "first");
  std::filesystem::copy_file(file("stranger.key"), file("client.key"),
                             std::filesystem::copy_options::overwrite_existing);
  const auto reconnect = [&] {
    server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    return insist_append(**log, "x");
  };
  ASSERT_TRUE(reconnect());
  ASSERT_TRUE(reconnect());
  {
    const std::lock_guard lock(mutex);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_NE(said[0].find(file("client.key")), std::string::npos) << said[0];
    EXPECT_NE(said[0].find("those read before"), std::string::npos) << said[0];
  }
  std::ofstream(file("ca.pem")) << "no certificate";
  ASSERT_TRUE(reconnect());
  const std::lock_guard lock(mutex);
  ASSERT_EQ(said.size(), 2U);
  EXPECT_NE(said[1].find(file("ca.pem")), std::string::npos) << said[1];
}

}  // namespace
}  // namespace tenure::conformance
