// Servers whose data goes back in time while logs are open.

#include <filesystem>
#include <thread>

#include "redis/place.h"

namespace tenure::conformance {
namespace {

// An older copy of the data, as from a backup or on a replica that was behind.
class RedisRollback : public testing::Test {
 protected:
  // What was there at the call is what comes back.
  void keep() const {
    server_.command({"SAVE"});
    std::filesystem::copy_file(dump(), dump() + ".kept", std::filesystem::copy_options::overwrite_existing);
  }
  void roll_back() {
    server_.kill();
    std::filesystem::rename(dump() + ".kept", dump());
    server_.restart();
  }
  std::string dump() const { return server_.directory() + "/dump.rdb"; }

  RedisServer server_;
};

TEST_F(RedisRollback, AReaderIsTold) {
  const auto log = open_at(server_.url());
  const Entry kept = put(*log, "kept");
  keep();
  const Entry last = put(*log, "lost", Cursor::at(kept));
  roll_back();
  EXPECT_EQ(code_of(insist_read(*log, Cursor::at(last))), Errc::lost_history);
  EXPECT_EQ(code_of(append(*log, "too early")), Errc::lost_history);
  ASSERT_TRUE(load_snapshot(*log));
  ASSERT_TRUE(append(*log, "after"));
  const auto run = read(*log, Cursor::at(kept));
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->front().data, "after");
}

// The positions have grown past the cursor again before the reader looks.
TEST_F(RedisRollback, AReaderIsToldAlsoWhereOthersHaveWrittenOn) {
  const auto log = open_at(server_.url());
  const Entry kept = put(*log, "kept");
  keep();
  const Entry last = put(*log, "same", Cursor::at(kept));
  roll_back();
  const auto other = open_at(server_.url());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(append(*other, "same"));
  EXPECT_EQ(code_of(insist_read(*log, Cursor::at(last))), Errc::lost_history);
}

// It had the acknowledgement and has read nothing: the acknowledged entry is gone.
TEST_F(RedisRollback, AnAppenderThatReadsNothingIsTold) {
  const auto log = open_at(server_.url());
  ASSERT_TRUE(append(*log, "kept"));
  keep();
  ASSERT_TRUE(append(*log, "acknowledged and lost", Lane::beat));
  roll_back();
  const auto other = open_at(server_.url());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(append(*other, "by another"));
  EXPECT_EQ(code_of(insist_append(*log, "too early")), Errc::lost_history);
}

// A snapshot that others have stored since covers the place of what was lost; it was not trimmed for that.
TEST_F(RedisRollback, AnAppenderIsToldAlsoWhereOthersHaveStoredASnapshot) {
  const auto log = open_at(server_.url());
  const Entry kept = put(*log, "kept");
  keep();
  ASSERT_TRUE(append(*log, "acknowledged and lost"));
  roll_back();
  const auto other = open_at(server_.url());
  const Entry last = put(*other, "by another", Cursor::at(kept));
  ASSERT_TRUE(store_snapshot(*other, Cursor::at(last), {"state"}));
  EXPECT_EQ(code_of(insist_append(*log, "too early")), Errc::lost_history);
  EXPECT_EQ(server_.command({"XLEN", log_key(server_)}), "2");
}

// What waits for a connection when another one finds the loss is not sent, although the stream bears the same name.
TEST_F(RedisRollback, NothingThatWaitedGetsIntoTheLog) {
  const auto log = open_at(server_.url());
  const Entry kept = put(*log, "kept");
  keep();
  const Entry lost = put(*log, "lost", Cursor::at(kept));
  ASSERT_TRUE(append(*log, "lost, too", Lane::beat));
  server_.kill();
  std::filesystem::rename(dump() + ".kept", dump());
  std::thread insistent([&] {
    // As a node does: over and over, on both lanes, so that some wait whichever connection is first.
    for (int i = 0; i < 2000; ++i) {
      for (const Lane lane : {Lane::data, Lane::beat}) {
        if (code_of(append(*log, "stale", lane)) == Errc::lost_history) return;
      }
    }
  });
  server_.restart();
  EXPECT_EQ(code_of(insist_read(*log, Cursor::at(lost))), Errc::lost_history);
  insistent.join();
  EXPECT_EQ(server_.command({"XLEN", log_key(server_)}), "1");
}

TEST_F(RedisRollback, WhoHasSeenOnlyWhatWasKeptGoesOn) {
  const auto log = open_at(server_.url());
  const Entry kept = put(*log, "kept");
  const auto other = open_at(server_.url());
  keep();
  ASSERT_TRUE(append(*other, "lost"));
  roll_back();
  ASSERT_TRUE(insist_append(*log, "after"));
  const auto run = insist_read(*log, Cursor::at(kept));
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->front().data, "after");
}

}  // namespace
}  // namespace tenure::conformance
