// Parsing of Kafka URLs. No error repeats a password.

#include "log/kafka/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "log_conformance/temporary_directory.h"

namespace tenure::kafka {
namespace {

KafkaSettings good(const std::string& url) {
  const auto settings = parse_settings(url);
  EXPECT_TRUE(settings) << url << ": " << settings.error().message();
  return settings ? *settings : KafkaSettings();
}

std::string bad(const std::string& url) {
  const auto settings = parse_settings(url);
  EXPECT_FALSE(settings) << url;
  if (settings) return "";
  EXPECT_EQ(settings.error().code, Errc::invalid) << url;
  EXPECT_EQ(settings.error().message().find("secret"), std::string::npos) << settings.error().message();
  return settings.error().message();
}

TEST(KafkaSettings, BrokersGetTheirPorts) {
  EXPECT_EQ(good("kafka://broker").brokers, "broker:9092");
  EXPECT_EQ(good("kafka://a:1,b,[::1]:7/").brokers, "a:1,b:9092,[::1]:7");
  EXPECT_EQ(good("kafka://a").shown, "kafka://a");
  EXPECT_FALSE(good("kafka://a").tls.on);
  EXPECT_TRUE(good("kafkas://a").tls.on);
  EXPECT_EQ(good("kafka://a").sasl, "");
  EXPECT_EQ(good("kafka://a").prefix, "tenure");
}

TEST(KafkaSettings, OptionsAreRead) {
  const KafkaSettings all = good(
      "kafkas://u:p@a?sasl=scram-sha-256&timeout=5000&login_patience=5&replication=2&prefix=prod.eu&ca_file=/ca&cert_"
      "file=/c&key_file=/k");
  EXPECT_EQ(all.sasl, "SCRAM-SHA-256");
  EXPECT_EQ(all.timeout_ms, 5000U);
  EXPECT_EQ(all.login_patience, std::chrono::seconds(5));
  EXPECT_EQ(good("kafka://a").login_patience, std::chrono::seconds(60));
  EXPECT_EQ(all.replication, 2U);
  EXPECT_EQ(all.prefix, "prod.eu");
  EXPECT_EQ(all.tls.ca_file, "/ca");
  EXPECT_EQ(all.tls.cert_file, "/c");
  EXPECT_EQ(all.tls.key_file, "/k");
  EXPECT_TRUE(all.tls.verify);
  EXPECT_FALSE(good("kafkas://a?verify=none").tls.verify);
}

// Only TLS hides a password that PLAIN sends.
TEST(KafkaSettings, ALoginGetsTheMechanismThatFitsTheConnection) {
  EXPECT_EQ(good("kafka://u:p@a").sasl, "SCRAM-SHA-512");
  EXPECT_EQ(good("kafkas://u:p@a").sasl, "PLAIN");
  EXPECT_EQ(good("kafka://u:p@a?sasl=plain").sasl, "PLAIN");
  EXPECT_EQ(good("kafka://u:p%40s@a").login.password, "p@s");
  EXPECT_EQ(good("kafka://u:a@b@c").login.password, "a@b");
}

TEST(KafkaSettings, PasswordsComeFromFilesAndTheEnvironment) {
  const conformance::TemporaryDirectory folder;
  const std::string file = folder.path() + "/secret";
  std::ofstream(file) << "from file\n";
  const KafkaSettings named = good("kafka://a?sasl=oauthbearer&password_file=" + file);
  EXPECT_EQ(current_login(named.login)->password, "from file");
  setenv("TENURE_KAFKA_USER", "someone", 1);
  setenv("TENURE_KAFKA_PASSWORD", "from environment", 1);
  const KafkaSettings plain = good("kafka://a");
  EXPECT_EQ(plain.login.user, "someone");
  EXPECT_EQ(plain.login.password, "from environment");
  EXPECT_EQ(plain.sasl, "SCRAM-SHA-512");
  EXPECT_EQ(good("kafka://u:own@a").login.password, "own");
  unsetenv("TENURE_KAFKA_USER");
  unsetenv("TENURE_KAFKA_PASSWORD");
}

TEST(KafkaSettings, MistakesAreNamedWithoutCredentials) {
  EXPECT_NE(bad("kafka:a").find("write kafka://HOST:PORT"), std::string::npos);
  EXPECT_NE(bad("kafka://").find("no host"), std::string::npos);
  EXPECT_NE(bad("kafka://u:secret@a:x").find("port"), std::string::npos);
  EXPECT_NE(bad("kafka://u:sec/ret-secret@a").find("%2F"), std::string::npos);
  EXPECT_NE(bad("kafka://a?pass=secret@x").find("%40"), std::string::npos);
  EXPECT_NE(bad("kafka://a/topic").find("no path"), std::string::npos);
  EXPECT_NE(bad("kafka://a?sasl=kerberos").find("scram-sha-512"), std::string::npos);
  EXPECT_NE(bad("kafka://a?sasl=plain").find("needs a user"), std::string::npos);
  EXPECT_NE(bad("kafka://a?sasl=oauthbearer").find("token"), std::string::npos);
  EXPECT_NE(bad("kafka://user@a").find("without a password"), std::string::npos);
  EXPECT_NE(bad("kafka://a?ca_file=/x").find("kafkas://"), std::string::npos);
  EXPECT_NE(bad("kafkas://a?key_file=/x").find("cert_file"), std::string::npos);
  EXPECT_NE(bad("kafka://a?timeout=1").find("from 500"), std::string::npos);
  EXPECT_NE(bad("kafka://a?prefix=a_b").find("prefix"), std::string::npos);
  EXPECT_NE(bad("kafka://a?colour=red").find("unknown option"), std::string::npos);
  EXPECT_NE(bad("kafka://a?timeout").find("NAME=VALUE"), std::string::npos);
}

}  // namespace
}  // namespace tenure::kafka
