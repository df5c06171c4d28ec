// Two servers of a cluster, each with half of the slots. The URL names the server that does not have the pool.

#include <array>

#include "redis/place.h"
#include "source/stream_url.h"
#include "source_conformance/reading.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

class RedisCluster : public testing::Test {
 protected:
  // A server with a bus of its own: Redis' default for its port may not be one.
  struct Member {
    const std::uint16_t bus = free_port();
    const RedisServer server{{"--cluster-enabled", "yes", "--cluster-port", std::to_string(bus)}};
    std::string id() const { return server.command({"CLUSTER", "MYID"}); }
  };

  void SetUp() override {
    members_[0].server.command({"CLUSTER", "ADDSLOTSRANGE", "0", "8191"});
    members_[1].server.command({"CLUSTER", "ADDSLOTSRANGE", "8192", "16383"});
    members_[0].server.command(
        {"CLUSTER", "MEET", "127.0.0.1", std::to_string(members_[1].server.port()), std::to_string(members_[1].bus)});
    const auto deadline = std::chrono::steady_clock::now() + kDeadline;
    for (const Member& member : members_) {
      while (member.server.command({"CLUSTER", "INFO"}).find("cluster_state:ok") == std::string::npos) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline);
        std::this_thread::sleep_for(10ms);  // a server can only be asked
      }
    }
    slot_ = members_[0].server.command({"CLUSTER", "KEYSLOT", kMetaKey});
  }

  // The slot of the pool is in the second half, or not.
  const Member& owner() const { return members_[std::stoi(slot_) > 8191 ? 1 : 0]; }
  const Member& other() const { return members_[std::stoi(slot_) > 8191 ? 0 : 1]; }

  // As redis-cli --cluster reshard does it.
  void begin_move(const Member& from, const Member& to) const {
    to.server.command({"CLUSTER", "SETSLOT", slot_, "IMPORTING", from.id()});
    from.server.command({"CLUSTER", "SETSLOT", slot_, "MIGRATING", to.id()});
  }
  static void move_key(const Member& from, const Member& to, const std::string& key) {
    from.server.command({"MIGRATE", "127.0.0.1", std::to_string(to.server.port()), key, "0", "5000"});
  }
  void end_move(const Member& from, const Member& to) const {
    to.server.command({"CLUSTER", "SETSLOT", slot_, "NODE", to.id()});
    from.server.command({"CLUSTER", "SETSLOT", slot_, "NODE", to.id()});
  }

  std::array<Member, 2> members_;
  std::string slot_;
};

TEST_F(RedisCluster, AServerThatDoesNotHaveThePoolNamesTheOneThatDoes) {
  const auto log = open_at(other().server.url());
  ASSERT_NE(log, nullptr);
  const Entry first = put(*log, "x");
  ASSERT_TRUE(append(*log, "beat", Lane::beat));
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(first), {"state"}));
  EXPECT_EQ(owner().server.command({"XLEN", log_key(owner().server)}), "2");
}

// A stream, with the key of its bound, is found wherever its slot is, and whichever server the URL names.
TEST_F(RedisCluster, StreamsLieOnDifferentServers) {
  for (const std::string name : {"a", "b", "c", "d", "with{a}tag", "{x}"}) {
    for (const Member& member : members_) {
      const std::string url = source::with_stream(member.server.url(), name);
      const auto stream = source::open_stream_writer(url, true);
      ASSERT_TRUE(stream) << stream.error().message();
      ASSERT_TRUE((*stream)->set_limits({.events_max = 1, .at_bound = source::StreamLimits::AtBound::drop_oldest}));
      add(**stream, events_of("e", 3));
      Reading reading(source::open_source(url).value());
      const auto after = reading.source().find("0", {});
      ASSERT_TRUE(after) << after.error().message();
      ASSERT_TRUE(reading.source().open("0", *after, {}));
      EXPECT_EQ(payloads(reading.until(1)), std::vector<std::string>{"e2"});
    }
    const auto stream = source::open_stream_writer(source::with_stream(members_[0].server.url(), name), false);
    ASSERT_TRUE(stream);
    EXPECT_TRUE((*stream)->remove());
  }
}

// Wherever their slots are, and whichever server the URL names.
TEST_F(RedisCluster, ShardsLieOnDifferentServers) {
  constexpr std::uint32_t kShards = 8;
  for (std::uint32_t i = 0; i < kShards; ++i) {
    const auto log =
        open_log(members_[i % 2].server.url(), {.pool = "spread", .read_only = false, .shard = {i, kShards}});
    ASSERT_TRUE(log) << log.error().message();
    ASSERT_TRUE(append(**log, "x"));
  }
  const int first = std::stoi(members_[0].server.command({"DBSIZE"}));
  const int second = std::stoi(members_[1].server.command({"DBSIZE"}));
  EXPECT_EQ(first + second, 3 * static_cast<int>(kShards)) << "a stream and two hashes each";
  EXPECT_GT(first, 0);
  EXPECT_GT(second, 0);
}

// Nothing is lost, and nothing is taken for lost while half of the keys are here and half there.
TEST_F(RedisCluster, APoolThatIsMovedIsFollowed) {
  const auto log = open_at(owner().server.url());
  const Entry first = put(*log, "before");
  const std::string key = log_key(owner().server);
  begin_move(owner(), other());
  move_key(owner(), other(), key);
  EXPECT_EQ(code_of(append(*log, "meanwhile")), Errc::unavailable);
  move_key(owner(), other(), kMetaKey);
  end_move(owner(), other());
  const auto position = insist_append(*log, "after");
  ASSERT_TRUE(position) << position.error().message();
  const auto run = insist_read(*log, Cursor::at(first));
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->front().data, "after");
  EXPECT_EQ(other().server.command({"XLEN", key}), "2");
}

}  // namespace
}  // namespace tenure::conformance
