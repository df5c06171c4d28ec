// Logins: a broker with users of its own.

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/clock.h"
#include "kafka/server.h"
#include "log/engines.h"
#include "log_conformance/certificates.h"
#include "log_conformance/free_port.h"
#include "log_conformance/insist.h"
#include "log_conformance/member.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

// A broker that lets in users of PLAIN by their passwords, and of OAUTHBEARER by any token that is not signed.
class KafkaAccess : public testing::Test {
 protected:
  std::string url(const std::string& login, const std::string& more) const {
    return "kafka://" + login + "127.0.0.1:" + std::to_string(port_) + "?timeout=2000&" + more;
  }
  // The broker lets the worker in by another password from now on. All connections break.
  void change_password(const std::string& password) {
    server_.kill();
    server_.set(settings(password));
    server_.restart();
  }

 private:
  std::vector<std::string> settings(const std::string& password) const {
    const std::string plain =
        "org.apache.kafka.common.security.plain.PlainLoginModule required user_worker=\"" + password + "\";";
    const std::string bearer =
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        "unsecuredLoginStringClaim_sub=\"broker\";";
    const std::string clients = "SASL_PLAINTEXT://127.0.0.1:" + std::to_string(port_);
    const std::string brokers = "PLAINTEXT://127.0.0.1:" + std::to_string(brokers_port_);
    const std::string controllers = "CONTROLLER://127.0.0.1:" + std::to_string(controller_port_);
    return {"listeners=" + clients + "," + brokers + "," + controllers,
            "controller.quorum.voters=1@127.0.0.1:" + std::to_string(controller_port_),
            "inter.broker.listener.name=PLAINTEXT",
            "sasl.enabled.mechanisms=PLAIN,OAUTHBEARER",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config=" + plain,
            "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config=" + bearer,
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT"};
  }

  const std::uint16_t port_ = free_port();
  const std::uint16_t brokers_port_ = free_port();
  const std::uint16_t controller_port_ = free_port();
  KafkaServer server_{settings("p@ss")};
};

std::string base64url(const std::string& text) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string coded;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) coded += kLetters[bits >> (count - 6) & 63];
  }
  if (count > 0) coded += kLetters[bits << (6 - count) & 63];
  return coded;
}

std::string token_until(std::int64_t seconds) {
  const std::string claims =
      "{\"sub\":\"worker\",\"iat\":" + std::to_string(seconds - 600) + ",\"exp\":" + std::to_string(seconds) + "}";
  return base64url("{\"alg\":\"none\"}") + "." + base64url(claims) + ".";
}

template <class T>
void expect_refused(const Result<T>& log) {
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, Errc::refused) << log.error().message();
  EXPECT_EQ(log.error().message().find("wrong-one"), std::string::npos) << log.error().message();
  EXPECT_NE(log.error().message().find("check user, password and sasl="), std::string::npos) << log.error().message();
}

// One broker for all of it: it takes seconds to start.
TEST_F(KafkaAccess, LoginsByPasswordAndByToken) {
  const auto log = open_at(url("worker:p@ss@", "sasl=plain"));
  ASSERT_TRUE(log);
  ASSERT_TRUE(append(*log, "x"));
  ASSERT_TRUE(append(*log, "beat", Lane::beat));
  EXPECT_TRUE(read(*log, {}));

  expect_refused(try_open(url("worker:wrong-one@", "sasl=plain")));
  expect_refused(try_open(url("nobody:wrong-one@", "sasl=plain")));
  const auto other = try_open(url("worker:p@ss@", "sasl=scram-sha-256"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Errc::refused) << other.error().message();

  const TemporaryDirectory folder;
  const std::string file = folder.path() + "/secret";
  std::ofstream(file) << "p@ss\n";
  EXPECT_TRUE(try_open(url("", "sasl=plain&password_file=" + file)).error().message().find("needs a user") !=
              std::string::npos);
  setenv("TENURE_KAFKA_USER", "worker", 1);
  EXPECT_TRUE(try_open(url("", "sasl=plain&password_file=" + file)));
  setenv("TENURE_KAFKA_PASSWORD_FILE", file.c_str(), 1);
  EXPECT_TRUE(try_open(url("", "sasl=plain")));
  unsetenv("TENURE_KAFKA_USER");
  unsetenv("TENURE_KAFKA_PASSWORD_FILE");

  const std::int64_t now = BootClock().wall_ms() / 1000;
  std::ofstream(file) << token_until(now + 600) << "\n";
  const auto bearer = try_open(url("", "sasl=oauthbearer&password_file=" + file));
  ASSERT_TRUE(bearer) << bearer.error().message();
  EXPECT_TRUE(append(**bearer, "by token"));
  std::ofstream(file) << token_until(now - 60) << "\n";
  const auto expired = try_open(url("", "sasl=oauthbearer&password_file=" + file));
  ASSERT_FALSE(expired);
  EXPECT_EQ(expired.error().code, Errc::refused);
  EXPECT_NE(expired.error().message().find("the token has expired"), std::string::npos) << expired.error().message();

  // A warning, for an open log whose password is no longer good, comes with the next connection.
  const auto findings = engine_of("kafka://")->inspect(url("worker:p@ss@", "sasl=plain"), {});
  EXPECT_GE(findings.size(), 5U);
  for (const Finding& finding : findings) EXPECT_EQ(finding.ok, finding.name != "replication") << finding.message;
}

// A password is replaced under an open log: at the broker first, and later in the file.
TEST_F(KafkaAccess, AnOpenLogGoesOnWithTheNewPassword) {
  const TemporaryDirectory folder;
  const std::string file = folder.path() + "/secret";
  std::ofstream(file) << "p@ss\n";
  const auto log = open_at(url("worker@", "sasl=plain&password_file=" + file));
  ASSERT_TRUE(log);
  const Entry first = put(*log, "before");
  change_password("new");
  // The log is patient.
  const auto appended = append(*log, "refused");
  ASSERT_FALSE(appended);
  EXPECT_NE(appended.error().code, Errc::refused) << appended.error().message();
  std::ofstream(file) << "new\n";
  ASSERT_TRUE(insist_append(*log, "after"));
  const auto beat = insist([&] { return append(*log, "beat", Lane::beat); });
  EXPECT_TRUE(beat) << beat.error().message();
  const auto run = insist_read(*log, Cursor::at(first));
  EXPECT_TRUE(run) << run.error().message();
}

// Without patience a refusal ends it. What is said names what to check, and no password.
TEST_F(KafkaAccess, ARefusalThatLastsEndsAnOpenLog) {
  change_password("wrong-one");
  const auto log = open_at(url("worker:wrong-one@", "sasl=plain&login_patience=1"));
  ASSERT_TRUE(log);
  const Entry first = put(*log, "before");
  change_password("new");
  expect_refused(insist_read(*log, Cursor::at(first)));
}

// The brokers and their clients show each other certificates of one authority.
class KafkaTls : public testing::Test {
 protected:
  void SetUp() override {
    certificates_.make_all();
    std::ofstream(certificates_.file("keys.pem")) << text("server.key") << text("server.pem");
    const std::string clients = "SSL://127.0.0.1:" + std::to_string(port_);
    const std::string brokers = "PLAINTEXT://127.0.0.1:" + std::to_string(brokers_port_);
    const std::string controllers = "CONTROLLER://127.0.0.1:" + std::to_string(controller_port_);
    server_ = std::make_unique<KafkaServer>(std::vector<std::string>{
        "listeners=" + clients + "," + brokers + "," + controllers,
        "controller.quorum.voters=1@127.0.0.1:" + std::to_string(controller_port_),
        "inter.broker.listener.name=PLAINTEXT",
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL", "ssl.client.auth=required",
        "ssl.keystore.type=PEM", "ssl.keystore.location=" + certificates_.file("keys.pem"), "ssl.truststore.type=PEM",
        "ssl.truststore.location=" + certificates_.file("ca.pem")});
  }
  std::string text(const std::string& name) const {
    std::ifstream file(certificates_.file(name));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  // "ca.pem" or "", and "client" or "".
  std::string url(const std::string& authority, const std::string& own, const std::string& more = "") const {
    std::string url = "kafkas://127.0.0.1:" + std::to_string(port_) + "?timeout=2000" + more;
    if (!authority.empty()) url += "&ca_file=" + certificates_.file(authority);
    if (!own.empty())
      url += "&cert_file=" + certificates_.file(own + ".pem") + "&key_file=" + certificates_.file(own + ".key");
    return url;
  }

  const Certificates certificates_;

 private:
  const std::uint16_t port_ = free_port();
  const std::uint16_t brokers_port_ = free_port();
  const std::uint16_t controller_port_ = free_port();
  std::unique_ptr<KafkaServer> server_;
};

TEST_F(KafkaTls, BothSidesProveWhoTheyAre) {
  const auto log = open_at(url("ca.pem", "client"));
  ASSERT_TRUE(log);
  ASSERT_TRUE(append(*log, "x"));
  EXPECT_TRUE(read(*log, {}));
  EXPECT_TRUE(try_open(url("", "client", "&verify=none")));
  // Authorities that have not signed, and a client that nobody has signed.
  for (const std::string& wrong :
       {url("stranger.pem", "client"), url("", "client"), url("ca.pem", "stranger"), url("ca.pem", "")}) {
    const auto refused = try_open(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, Errc::unavailable) << refused.error().message();
    EXPECT_NE(refused.error().message().find("SSL"), std::string::npos) << refused.error().message();
  }
  certificates_.expire("client");
  const auto expired = try_open(url("ca.pem", "client"));
  ASSERT_FALSE(expired);
  EXPECT_EQ(expired.error().code, Errc::unavailable) << expired.error().message();
  EXPECT_NE(expired.error().message().find("check ca_file, cert_file and key_file, and their dates"), std::string::npos)
      << expired.error().message();
  EXPECT_TRUE(append(*log, "the connection that is there goes on"));
  const auto missing = try_open(url("nothing.pem", "client"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::invalid) << missing.error().message();
}

}  // namespace
}  // namespace tenure::conformance
