// Folders that programs have left are removed completely, whatever is in them, and nothing beside them.

#include "exec/remove_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "exec/folder_remover.h"
#include "log_conformance/temporary_directory.h"

namespace tenure::exec {
namespace {

namespace fs = std::filesystem;

class RemoveTree : public testing::Test {
 protected:
  std::string path(const std::string& name = "folder") const { return directory_.path() + "/" + name; }
  static void touch(const std::string& file) { std::ofstream(file) << "x"; }
  static bool is_there(const std::string& file) { return fs::exists(fs::symlink_status(file)); }

  const conformance::TemporaryDirectory directory_;
};

TEST_F(RemoveTree, FilesOfAllKindsAndFoldersInFolders) {
  fs::create_directories(path() + "/a/b/c");
  fs::create_directories(path() + "/a/empty");
  for (const char* const file : {"/x", "/a/x", "/a/b/x", "/a/b/c/x"}) touch(path() + file);
  ASSERT_EQ(mkfifo((path() + "/a/fifo").c_str(), 0600), 0);
  fs::create_symlink("nowhere", path() + "/a/b/link");
  EXPECT_TRUE(remove_tree(path()));
  EXPECT_FALSE(is_there(path()));
  EXPECT_TRUE(remove_tree(path()));  // there is nothing
}

TEST_F(RemoveTree, LinksAreNotFollowed) {
  fs::create_directories(path("kept"));
  touch(path("kept/file"));
  fs::create_directories(path() + "/a/b");
  for (const char* const link : {"/link", "/a/link", "/a/b/link"}) fs::create_symlink(path("kept"), path() + link);
  fs::create_hard_link(path("kept/file"), path() + "/a/file");
  EXPECT_TRUE(remove_tree(path()));
  EXPECT_FALSE(is_there(path()));
  EXPECT_TRUE(is_there(path("kept/file")));
  fs::create_symlink(path("kept"), path());  // a program has put a link in the place of its folder
  EXPECT_TRUE(remove_tree(path()));
  EXPECT_FALSE(is_there(path()));
  EXPECT_TRUE(is_there(path("kept/file")));
}

// Deeper than a process may have files open, and than a path may be long.
TEST_F(RemoveTree, DepthTakesNoDescriptors) {
  ASSERT_EQ(mkdir(path().c_str(), 0700), 0);
  int at = ::open(path().c_str(), O_PATH | O_CLOEXEC);
  const std::string name(20, 'd');
  for (int i = 0; i < 400; ++i) {
    ASSERT_EQ(mkdirat(at, name.c_str(), 0700), 0);
    const int next = ::openat(at, name.c_str(), O_PATH | O_CLOEXEC);
    ::close(std::exchange(at, next));
  }
  ::close(at);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{32, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  EXPECT_TRUE(remove_tree(path()));
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(is_there(path()));
}

// For root there are none that it may not read.
TEST_F(RemoveTree, FoldersWithoutRights) {
  fs::create_directories(path() + "/a/b/c");
  touch(path() + "/a/b/c/file");
  for (const char* const folder : {"/a/b/c", "/a/b", "/a", ""}) {
    ASSERT_EQ(chmod((path() + folder).c_str(), 0), 0);
  }
  EXPECT_TRUE(remove_tree(path()));
  EXPECT_FALSE(is_there(path()));
}

TEST_F(RemoveTree, StopsWhenItIsTold) {
  fs::create_directories(path() + "/a");
  touch(path() + "/a/file");
  const std::atomic<bool> stop = true;
  EXPECT_FALSE(remove_tree(path(), stop));
  EXPECT_TRUE(is_there(path()));
}

class RemoverTest : public RemoveTree {
 protected:
  static constexpr int kMany = 20'000;  // files; they take long to remove, as seen from a test

  // In memory where that can be: on a disk in use they take long to be made.
  void SetUp() override {
    if (access("/dev/shm", W_OK) == 0) place_ = "/dev/shm/";
    place_ += "tenure-remover-" + std::to_string(getpid());
    ASSERT_TRUE(fs::create_directory(place_));
  }
  void TearDown() override { fs::remove_all(place_); }
  std::string path(const std::string& name) const { return place_ + "/" + name; }

  void fill(const std::string& name, int files) const {
    fs::create_directories(path(name));
    for (int i = 0; i < files; ++i) touch(path(name) + "/" + std::to_string(i));
  }
  template <class Holds>
  static bool soon(const Holds& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  std::string place_ = testing::TempDir();
};

TEST_F(RemoverTest, NobodyWaitsForIt) {
  fill("many", kMany);
  fill("few", 2);
  FolderRemover remover;
  EXPECT_TRUE(remover.remove(path("many")));
  EXPECT_TRUE(remover.remove(path("few")));
  EXPECT_TRUE(is_there(path("many")));
  EXPECT_TRUE(soon([this] { return !is_there(path("many")) && !is_there(path("few")); }));
}

TEST_F(RemoverTest, BeyondItsBoundAFolderStays) {
  fill("many", kMany);
  fill("second", 2);
  fill("third", 2);
  FolderRemover remover(1);
  ASSERT_TRUE(remover.remove(path("many")));
  ASSERT_TRUE(soon([&] { return remover.waiting() == 0; }));  // it is at it
  EXPECT_TRUE(remover.remove(path("second")));
  EXPECT_FALSE(remover.remove(path("third")));
  EXPECT_TRUE(soon([this] { return !is_there(path("second")); }));
  EXPECT_TRUE(is_there(path("third")));
}

TEST_F(RemoverTest, ItsEndDoesNotWaitForWhatIsLeft) {
  fill("many", kMany);
  std::optional<FolderRemover> remover;
  remover.emplace();
  remover->remove(path("many"));
  ASSERT_TRUE(soon([&] { return remover->waiting() == 0; }));
  remover.reset();
  EXPECT_TRUE(is_there(path("many")));
}

}  // namespace
}  // namespace tenure::exec
