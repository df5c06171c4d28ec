// Ways to connect, and who may: ACL users, TLS, unix sockets, databases.

#include <fstream>
#include <sstream>

#include "log/redis/inspection.h"
#include "log/redis/rights.h"
#include "redis/place.h"
#include "redis/tls.h"

namespace tenure::conformance {
namespace {

// As docs/redis.md has it.
std::vector<std::string> rule() {
  std::vector<std::string> words = {"resetkeys", "~tenure:{default}:*", "resetchannels", "-@all"};
  for (const std::string_view right : redis::kRights) words.push_back("+" + std::string(right));
  return words;
}

void allow(const RedisServer& server, const std::string& user, const std::string& password) {
  std::vector<std::string> words = {"ACL", "SETUSER", user, "reset", "on", ">" + password};
  for (const std::string& word : rule()) words.push_back(word);
  ASSERT_EQ(server.command(words), "OK");
}

// Everything a pool does to its log.
void live_a_life(Log& log) {
  const Entry first = put(log, "first");
  ASSERT_TRUE(append(log, "beat", Lane::beat));
  const Entry last = put(log, "last", Cursor::at(first));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store_snapshot(log, Cursor::at(last), {"state"}));
  const auto trimmed = trim(log, last.position);
  EXPECT_TRUE(trimmed) << trimmed.error().message();
  const auto snapshot = load_snapshot(log);
  ASSERT_TRUE(snapshot) << snapshot.error().message();
  EXPECT_EQ(snapshot->chunks, (std::vector<Bytes>{"state"}));
  const auto removed = remove(log);
  EXPECT_TRUE(removed) << removed.error().message();
  EXPECT_TRUE(load_snapshot(log));
  EXPECT_TRUE(append(log, "anew"));
}

TEST(RedisAccess, AUserWithExactlyTheDocumentedRightsCanDoAllThatAPoolNeeds) {
  const RedisServer server;
  allow(server, "worker", "s3cret");
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  live_a_life(*open_at("redis://worker:s3cret@" + address));
  const auto other = try_open("redis://worker:s3cret@" + address, "other");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Errc::refused);
  EXPECT_EQ(other.error().message().find("s3cret"), std::string::npos) << other.error().message();
}

TEST(RedisAccess, ForShardsTheRuleNamesTheirKeysToo) {
  const RedisServer server;
  allow(server, "worker", "s3cret");
  const std::string url = "redis://worker:s3cret@127.0.0.1:" + std::to_string(server.port());
  const auto open_shard = [&](std::uint32_t shard) {
    return open_log(url, {.pool = "default", .read_only = false, .shard = {shard, 4}});
  };
  EXPECT_EQ(code_of(open_shard(3)), Errc::refused);
  server.command({"ACL", "SETUSER", "worker", "~tenure:{default/*"});
  for (std::uint32_t shard = 0; shard < 4; ++shard) {
    const auto log = open_shard(shard);
    ASSERT_TRUE(log) << log.error().message();
    live_a_life(**log);
  }
}

// The same life, as far as it goes.
void try_to_live(const std::string& url) {
  const auto log = try_open(url);
  if (!log || !append(**log, "x")) return;
  const auto run = read(**log, {});
  if (!run) return;
  const Cursor first = Cursor::at(run->back());
  if (!append(**log, "y")) return;
  const auto more = read(**log, first);
  if (!more) return;
  for (int i = 0; i < 3; ++i) (void)store_snapshot(**log, Cursor::at(more->back()), {"state"});
  (void)store_snapshot(**log, first, {"older"});
  (void)load_snapshot(**log);
  (void)trim(**log, more->back().position);
  if (remove(**log)) (void)load_snapshot(**log);
}

// One is taken away at a time, and the server's own log must show that it was missed.
TEST(RedisAccess, EachOfTheRightsIsNeeded) {
  const RedisServer server;
  for (const std::string_view right : redis::kRights) {
    server.command({"FLUSHALL"});
    allow(server, "worker", "s3cret");
    server.command({"ACL", "SETUSER", "worker", "-" + std::string(right)});
    server.command({"ACL", "LOG", "RESET"});
    try_to_live("redis://worker:s3cret@127.0.0.1:" + std::to_string(server.port()));
    EXPECT_NE(server.command({"ACL", "LOG"}), "") << right;
  }
}

// In the rule's order, so that the document cannot drift from the code.
TEST(RedisAccess, TheDocumentHasTheRule) {
  std::stringstream text;
  text << std::ifstream(TENURE_DOCS "/redis.md").rdbuf();
  std::string words = text.str();
  for (char& c : words) c = c == '\n' || c == '\\' ? ' ' : c;
  std::string wanted;
  for (const std::string& word : rule()) wanted += (wanted.empty() ? "" : " ") + word;
  std::string squeezed;
  for (const char c : words) {
    if (c != ' ' || squeezed.empty() || squeezed.back() != ' ') squeezed += c;
  }
  const std::size_t pool = wanted.find("{default}");
  EXPECT_NE(squeezed.find(wanted.replace(pool, 9, "{mail}")), std::string::npos) << wanted;
}

const Finding* find(const std::vector<Finding>& findings, const std::string& name) {
  for (const Finding& finding : findings) {
    if (finding.name == name) return &finding;
  }
  return nullptr;
}

TEST(RedisAccess, ALookAtTheServerSaysWhatCouldBeLost) {
  const RedisServer server;
  std::vector<Finding> findings = redis::inspect(server.url(), {});
  ASSERT_NE(find(findings, "durability"), nullptr);
  EXPECT_FALSE(find(findings, "durability")->ok);
  EXPECT_TRUE(find(findings, "version")->ok);
  EXPECT_TRUE(find(findings, "eviction")->ok);
  EXPECT_TRUE(find(findings, "failover")->ok);
  EXPECT_TRUE(find(findings, "rights")->ok) << find(findings, "rights")->message;
  server.command({"CONFIG", "SET", "appendonly", "yes", "appendfsync", "always"});
  server.command({"CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru"});
  findings = redis::inspect(server.url(), {});
  EXPECT_TRUE(find(findings, "durability")->ok);
  EXPECT_FALSE(find(findings, "eviction")->ok);
}

// The user has no right to query, and gets a note about that; nothing is invented.
TEST(RedisAccess, ALookWithFewRightsSaysWhatItCouldNotSee) {
  const RedisServer server;
  allow(server, "worker", "s3cret");
  const std::string url = "redis://worker:s3cret@127.0.0.1:" + std::to_string(server.port());
  std::vector<Finding> findings = redis::inspect(url, {});
  ASSERT_NE(find(findings, "server"), nullptr);
  EXPECT_NE(find(findings, "durability")->message.find("may not"), std::string::npos);
  EXPECT_EQ(find(findings, "rights"), nullptr);
  server.command({"ACL", "SETUSER", "worker", "+acl|whoami", "+acl|dryrun", "-xtrim", "-script|load"});
  findings = redis::inspect(url, {});
  ASSERT_NE(find(findings, "rights"), nullptr);
  EXPECT_EQ(find(findings, "rights")->message, "user 'worker' lacks +script|load +xtrim");
  EXPECT_TRUE(redis::inspect("redis://127.0.0.1:1", {}).empty());
}

TEST(RedisAccess, NoPasswordOrAWrongOneIsRefusedWithoutRepeatingIt) {
  const RedisServer server({"--requirepass", "right"});
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  for (const char* const login : {"", ":wr0ng@", "nobody:wr0ng@"}) {
    const auto log = try_open(std::string("redis://") + login + address);
    ASSERT_FALSE(log);
    EXPECT_EQ(log.error().code, Errc::refused) << log.error().message();
    EXPECT_EQ(log.error().message().find("wr0ng"), std::string::npos) << log.error().message();
  }
  EXPECT_TRUE(try_open("redis://:right@" + address));
}

TEST(RedisAccess, AUnixSocketAndAnotherDatabase) {
  const RedisServer server;
  const auto log = open_at("unix:" + server.socket() + "?db=3");
  live_a_life(*log);
  EXPECT_EQ(server.command({"EXISTS", kMetaKey}), "0");  // not in database 0
  EXPECT_TRUE(open_at("redis://127.0.0.1:" + std::to_string(server.port()) + "/3"));
  EXPECT_EQ(code_of(open_log("redis://127.0.0.1:" + std::to_string(server.port()), {"default", true})), Errc::refused);
  EXPECT_EQ(code_of(try_open(server.url() + "/99")), Errc::refused);
}

TEST(RedisAccess, AHostName) {
  const RedisServer server;
  ASSERT_TRUE(append(*open_at("redis://localhost:" + std::to_string(server.port())), "x"));
  EXPECT_EQ(code_of(try_open("redis://no-such-host.invalid:1")), Errc::unavailable);
}

TEST_F(RedisTls, AServerThatTheAuthoritySignedIsTrustedByNameAndByAddress) {
  const RedisServer server(options("no"));
  live_a_life(*open_at(url("localhost", "ca_file=" + file("ca.pem"))));
  live_a_life(*open_at(url("127.0.0.1", "ca_file=" + file("ca.pem"))));
}

TEST_F(RedisTls, AServerThatCannotBeVerifiedIsRefused) {
  const RedisServer server(options("no"));
  EXPECT_EQ(code_of(try_open(url("localhost", "ca_file=" + file("stranger.pem")))), Errc::refused);
  EXPECT_EQ(code_of(try_open(url("localhost", "timeout=5000"))), Errc::refused);  // the system's authorities
  const std::string trusted = "ca_file=" + file("ca.pem");
  EXPECT_EQ(code_of(try_open(url("127.0.0.1", trusted + "&server_name=elsewhere"))), Errc::refused);
  EXPECT_TRUE(try_open(url("127.0.0.1", trusted + "&server_name=localhost")));
  EXPECT_TRUE(try_open(url("localhost", "verify=none")));
  EXPECT_EQ(code_of(try_open(url("localhost", "ca_file=" + file("missing.pem")))), Errc::refused);
}

TEST_F(RedisTls, AClientShowsItsCertificateWhereOneIsAskedFor) {
  const RedisServer server(options("yes"));
  const std::string trusted = "ca_file=" + file("ca.pem");
  EXPECT_FALSE(try_open(url("localhost", trusted)));
  EXPECT_FALSE(
      try_open(url("localhost", trusted + "&cert_file=" + file("stranger.pem") + "&key_file=" + file("stranger.key"))));
  live_a_life(
      *open_at(url("localhost", trusted + "&cert_file=" + file("client.pem") + "&key_file=" + file("client.key"))));
}

TEST_F(RedisTls, APlainServerIsNoServerOfTlsAndTheOtherWayRound) {
  const RedisServer server(options("no"));
  EXPECT_FALSE(try_open("rediss://127.0.0.1:" + std::to_string(server.port()) + "?verify=none&timeout=500"));
  EXPECT_FALSE(try_open("redis://127.0.0.1:" + std::to_string(tls_port_) + "?timeout=500"));
}

}  // namespace
}  // namespace tenure::conformance
