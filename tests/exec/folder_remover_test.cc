// Folders are removed beside what a host does: nobody waits for it, and its queue has a bound.

#include "exec/folder_remover.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

namespace tenure::exec {
namespace {

namespace fs = std::filesystem;

class RemoverTest : public testing::Test {
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
  static bool is_there(const std::string& file) { return fs::exists(fs::symlink_status(file)); }

  void fill(const std::string& name, int files) const {
    fs::create_directories(path(name));
    for (int i = 0; i < files; ++i) std::ofstream(path(name) + "/" + std::to_string(i)) << "x";
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
