// The next worker removes what a dead worker has left, and does not wait for it.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "exec/job_folder.h"
#include "exec/program_host.h"
#include "guard/lease_page.h"
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

// Workers that start at the same time look at each other's new folders, which have no lock yet.
TEST(WorkFolder, ManyStartAtOnce) {
  conformance::TemporaryDirectory parent;
  constexpr int kThreads = 8;
  constexpr int kFoldersEach = 50;
  std::vector<std::thread> threads;
  std::array<Status, kThreads> outcomes;
  for (Status& outcome : outcomes) {
    threads.emplace_back([&parent, &outcome] {
      std::vector<WorkFolder> kept;
      for (int i = 0; i < kFoldersEach && outcome; ++i) {
        Result<WorkFolder> work = WorkFolder::create(parent.path());
        if (work) {
          kept.push_back(*std::move(work));
        } else {
          outcome = Failure(work.error());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome);
}

TEST(WorkFolder, AHostRemovesWhatWasLeftBehind) {
  conformance::TemporaryDirectory parent;
  const std::string left = parent.path() + "/tenure-work-dead";
  std::filesystem::create_directory(left);
  std::ofstream(left + "/payload") << "x";
  auto guard = guard::Guard::start({.command = {TENURE_GUARD}});
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

// Whatever the umask: what a program finds is its user's alone, and its user can use it.
TEST(WorkFolder, IsItsUsersAlone) {
  for (const mode_t mask : {mode_t{0}, mode_t{077}, mode_t{0377}}) {
    conformance::TemporaryDirectory parent;
    const mode_t before = umask(mask);
    auto work = WorkFolder::create(parent.path());
    HeldJob job;
    job.checkpoint.emplace();
    auto folder = work ? JobFolder::create(work->path(), 1, job) : Result<JobFolder>(Failure(work.error()));
    const auto page = guard::LeasePage::create();
    umask(before);
    ASSERT_TRUE(work) << work.error().message();
    ASSERT_TRUE(folder) << folder.error().message();
    ASSERT_TRUE(page);
    const auto mode_of = [](const std::string& path) {
      struct stat found{};
      EXPECT_EQ(stat(path.c_str(), &found), 0) << path;
      return found.st_mode & 07777;
    };
    EXPECT_EQ(mode_of(work->path()), 0700U) << mask;
    EXPECT_EQ(mode_of(folder->path()), 0700U) << mask;
    EXPECT_EQ(mode_of(folder->path() + "/payload"), 0600U) << mask;
    EXPECT_EQ(mode_of(folder->path() + "/checkpoint"), 0600U) << mask;
    EXPECT_EQ(mode_of("/proc/self/fd/" + std::to_string(page->descriptor())), 0600U) << mask;
  }
}

// It can neither be opened nor locked by another user, although it lies where everybody may look.
TEST(WorkFolder, AnotherUserCannotOpenOrLockIt) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  conformance::TemporaryDirectory parent;
  ASSERT_EQ(chmod(parent.path().c_str(), 0777), 0);
  auto work = WorkFolder::create(parent.path());
  ASSERT_TRUE(work);
  auto folder = JobFolder::create(work->path(), 1, {});
  ASSERT_TRUE(folder);
  const std::string payload = folder->path() + "/payload";
  const pid_t other = fork();
  if (other == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(2);
    const bool sees = access(parent.path().c_str(), R_OK | W_OK | X_OK) == 0;
    const bool opens = ::open(work->path().c_str(), O_RDONLY) >= 0 || ::open(payload.c_str(), O_RDONLY) >= 0;
    _exit(sees && !opens ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tenure::exec
