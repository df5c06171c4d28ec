// A lock tells who is dead, and nothing else counts as a death. The lock belongs to an open file: closing the file is
// equivalent to dying, so one process can play several.

#include "guard/death_watch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "guard/process.h"
#include "log_conformance/temporary_directory.h"

namespace tenure::guard {
namespace {

using namespace std::chrono_literals;

class Told {
 public:
  explicit Told(DeathWatch& watch) {
    watch.tell([this](std::uint64_t session) {
      const std::lock_guard lock(mutex_);
      sessions_.insert(session);
      changed_.notify_all();
    });
  }
  bool of(std::uint64_t session) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kDeadline, [&] { return sessions_.contains(session); });
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return sessions_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::uint64_t> sessions_;
};

class DeathWatchTest : public testing::Test {
 protected:
  std::unique_ptr<DeathWatch> open() const { return *DeathWatch::open(folder_.path() + "/pool.db"); }

  conformance::TemporaryDirectory folder_;
  std::unique_ptr<DeathWatch> observer_ = open();
  Told told_{*observer_};
};

TEST_F(DeathWatchTest, SlotWithoutALockIsADeadOne) {
  {
    const auto dead = open();
    dead->hold(5);
  }
  observer_->watch(5);
  EXPECT_TRUE(told_.of(5));
}

TEST_F(DeathWatchTest, OnlyTheDeadAreTold) {
  const auto living = open();
  living->hold(5);
  living->hold(5 + kAliveSlots);  // the same slot, if it were free
  const auto left = open();
  left->hold(6);
  left->let_go(6);
  observer_->watch(5);
  observer_->watch(5 + kAliveSlots);
  observer_->watch(6);
  observer_->watch(7);  // took no part
  {
    const auto dead = open();
    dead->hold(8);
  }
  observer_->watch(8);
  EXPECT_TRUE(told_.of(8));
  EXPECT_EQ(told_.count(), 1U);
}

// The requests to the observer are handled in order: once a later death is reported, all earlier requests are done.
TEST_F(DeathWatchTest, ForgottenOnesAreNotTold) {
  auto dying = open();
  dying->hold(5);
  observer_->watch(5);
  observer_->forget(5);
  for (const std::uint64_t marker : {8UL, 9UL}) {
    {
      const auto dead = open();
      dead->hold(marker);
    }
    observer_->watch(marker);
    EXPECT_TRUE(told_.of(marker));
    dying.reset();
  }
  EXPECT_EQ(told_.count(), 2U);
}

// A copy has the slots of those who live, but not their locks. Nobody may take them for dead.
TEST_F(DeathWatchTest, ACopyOfTheFileKnowsNobody) {
  const auto living = open();
  living->hold(5);
  const std::string file = folder_.path() + "/pool.db-alive";
  std::filesystem::copy_file(file, file + ".copy");
  std::filesystem::rename(file + ".copy", file);
  const auto newcomer = open();
  Told told(*newcomer);
  newcomer->watch(5);
  {
    const auto dead = open();
    dead->hold(8);
  }
  newcomer->watch(8);
  EXPECT_TRUE(told.of(8));
  EXPECT_EQ(told.count(), 1U);
  newcomer->tell({});
}

// A user who can write to the file can declare processes dead, so other users lose their access to it.
TEST_F(DeathWatchTest, TheFileIsOpenToThoseWhoMayWriteTheDatabase) {
  namespace fs = std::filesystem;
  const std::string database = folder_.path() + "/pool.db";
  const std::string file = database + "-alive";
  const mode_t before = umask(0);
  fs::remove(file);
  (void)open();
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0600));
  fs::permissions(file, fs::perms(0666));
  (void)open();
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0600));
  umask(0777);
  fs::remove(file);
  std::ofstream(database).close();
  fs::permissions(database, fs::perms(0660));
  (void)open();
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0660));
  fs::permissions(database, fs::perms(0600));
  const auto watch = open();
  fs::permissions(database, fs::perms(0660));  // made meanwhile, by the same process
  watch->hold(5);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0660));
  umask(before);
}

}  // namespace
}  // namespace tenure::guard
