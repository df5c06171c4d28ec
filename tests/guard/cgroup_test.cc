// Groups that dead workers have left are removed, and groups of others stay.

#include "guard/cgroup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tenure::guard {
namespace {

bool there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

TEST(Cgroup, RemovesOnlyWhatAWorkerHasLeft) {
  const Result<std::unique_ptr<Cgroup>> parent = Cgroup::create("");
  if (!parent) GTEST_SKIP() << parent.error().message();
  const std::string left = (*parent)->path() + "/tenure-1-2";
  const std::string others = (*parent)->path() + "/tenure-production";
  ASSERT_EQ(mkdir(left.c_str(), 0700), 0);
  ASSERT_EQ(mkdir(others.c_str(), 0700), 0);
  {
    const Result<std::unique_ptr<Cgroup>> next = Cgroup::create((*parent)->path());
    ASSERT_TRUE(next);
    EXPECT_FALSE(there(left));
    EXPECT_TRUE(there(others));
  }
  rmdir(others.c_str());
}

}  // namespace
}  // namespace tenure::guard
