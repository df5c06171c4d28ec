// A master, its replica, and a sentinel that promotes the replica.

#include <csignal>
#include <fstream>

#include "redis/place.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

template <class Reached>
bool wait_until(const Reached& reached) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!reached()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(10ms);  // a server can only be asked
  }
  return true;
}

class RedisSentinel : public testing::Test {
 protected:
  void SetUp() override {
    const auto in_step = [this] {
      return replica_.command({"INFO", "replication"}).find("master_link_status:up") != std::string::npos;
    };
    ASSERT_TRUE(wait_until(in_step));
    std::ofstream(config()) << "port " << port_ << "\nbind 127.0.0.1\ndir " << directory_.path() << "\nunixsocket "
                            << directory_.path() << "/sentinel.sock\nsentinel monitor main 127.0.0.1 " << master_.port()
                            << " 1\nsentinel down-after-milliseconds main 300\nsentinel failover-timeout main 3000\n";
    sentinel_ = start_redis("/usr/bin/redis-sentinel", {config()});
    while (const auto line = sentinel_->line()) {
      if (line->find("+slave") != std::string::npos) return;
    }
    FAIL() << "the sentinel does not find the replica";
  }

  // Until the sentinel says that it is done with it.
  void wait_for_failover() const {
    while (const auto line = sentinel_->line()) {
      if (line->find("+switch-master") != std::string::npos) return;
    }
    FAIL() << "no failover";
  }
  std::string url() const { return "redis+sentinel://127.0.0.1:1,127.0.0.1:" + std::to_string(port_) + "/main"; }
  std::string config() const { return directory_.path() + "/sentinel.conf"; }

  const TemporaryDirectory directory_;
  const std::uint16_t port_ = free_port();
  RedisServer master_{{"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}};
  const RedisServer replica_{{"--replicaof", "127.0.0.1", std::to_string(master_.port())}};
  std::unique_ptr<Child> sentinel_;
};

// The replica had it all: nobody notices but by a pause.
TEST_F(RedisSentinel, AfterAFailoverThatLostNothingTheHandleGoesOn) {
  const auto log = open_at(url() + "?wait_replicas=1");
  Entry last = put(*log, "0");
  for (int i = 1; i < 20; ++i) last = put(*log, std::to_string(i), Cursor::at(last));
  master_.kill();
  wait_for_failover();
  const auto by_another = open_at(url());
  ASSERT_TRUE(append(*by_another, "after"));
  // With wait_replicas a replica is needed again.
  const RedisServer next({"--replicaof", "127.0.0.1", std::to_string(replica_.port())});
  const auto run = insist_read(*log, Cursor::at(last));
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->front().data, "after");
  EXPECT_GT(run->front().position, last.position);
}

// The replica lacked the last entry. Its reader, and the client that got the acknowledgement, learn that it is gone.
TEST_F(RedisSentinel, AFailoverThatLostTheTailIsToldToThoseWhoKnewIt) {
  const auto reader = open_at(url());
  const auto writer = open_at(url());
  const Entry kept = put(*reader, "kept");
  ASSERT_TRUE(wait_until([&] { return replica_.command({"XLEN", log_key(replica_)}) == "1"; }));
  replica_.signal(SIGSTOP);
  master_.command({"CLIENT", "KILL", "TYPE", "replica"});  // or its socket would still take the entry
  ASSERT_TRUE(append(*writer, "lost"));
  const auto run = read(*reader, Cursor::at(kept));
  ASSERT_TRUE(run) << run.error().message();
  master_.kill();
  replica_.signal(SIGCONT);
  wait_for_failover();
  EXPECT_EQ(code_of(insist_read(*reader, Cursor::at(run->back()))), Errc::lost_history);
  EXPECT_EQ(code_of(append(*reader, "too early")), Errc::lost_history);
  EXPECT_EQ(code_of(insist_append(*writer, "too early")), Errc::lost_history);
  ASSERT_TRUE(insist([&] { return load_snapshot(*reader); }));
  ASSERT_TRUE(insist_append(*reader, "after"));
  const auto anew = insist_read(*reader, Cursor::at(kept));
  ASSERT_TRUE(anew) << anew.error().message();
  EXPECT_EQ(anew->front().data, "after");
}

}  // namespace
}  // namespace tenure::conformance
