// What a worker that died has left is removed by the next, which does not wait for it.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "exec/job_folder.h"
#include "exec/program_host.h"
#include "log_conformance/temporary_directory.h"

namespace tenure::exec {
namespace {

// Folders of workers that died together with their guard are for the next to remove, and for one alone.
TEST(WorkFolder, LeftBehindOnesAreFound) {
  conformance::TemporaryDirectory parent;
  std::string left;
  {
    auto work = WorkFolder::create(parent.path());
    ASSERT_TRUE(work);
    left = work->path();
    std::ofstream(left + "/payload") << "x";
  }
  auto living = WorkFolder::create(parent.path());
  ASSERT_TRUE(living);
  std::ofstream(living->path() + "/payload") << "x";
  auto next = WorkFolder::create(parent.path());
  ASSERT_TRUE(next);
  EXPECT_TRUE(next->take_left_behind().empty());
  const std::vector<FolderLeftBehind> found = living->take_left_behind();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, left);
}

TEST(WorkFolder, AHostRemovesWhatWasLeftBehind) {
  conformance::TemporaryDirectory parent;
  const std::string left = parent.path() + "/tenure-work-dead";
  std::filesystem::create_directory(left);
  std::ofstream(left + "/payload") << "x";
  auto guard = Guard::start({.command = {TENURE_GUARD}});
  ASSERT_TRUE(guard);
  ProgramOptions options;
  options.command = {"true"};
  options.work_parent = parent.path();
  auto host = ProgramHost::create(**guard, options);
  ASSERT_TRUE(host);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::filesystem::exists(left) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(std::filesystem::exists(left));
}

}  // namespace
}  // namespace tenure::exec
