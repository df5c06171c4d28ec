// Folders that programs have left are removed completely, whatever is in them, and nothing beside them.

#include "guard/remove_tree.h"

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

#include "log_conformance/temporary_directory.h"

namespace tenure::guard {
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

}  // namespace
}  // namespace tenure::guard
