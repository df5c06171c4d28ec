// The example handlers do what docs/handlers.md says.

#include <gtest/gtest.h>

#include <cstdlib>

#include "exec/host_stage.h"
#include "guard/process.h"

namespace tenure::exec {
namespace {

using Heard = HostStage::Heard;

std::string example(const std::string& name) { return std::string(TENURE_EXAMPLES) + "/" + name; }

TEST(Examples, ShellResident) {
  HostStage stage({example("resident.sh")});
  HeldJob job;
  job.hold.key = "k";
  job.checkpoint = "41\n";
  const std::uint64_t epoch = stage.start(job);
  EXPECT_EQ(stage.logged(epoch, "holding"), "k in epoch 101, from 41");
  stage.message(epoch, 1, "hello");
  EXPECT_EQ(stage.logged(epoch, "message"), "42: hello");
  ASSERT_TRUE(stage.wait(epoch, [](const Heard& heard) { return !heard.checkpoints.empty(); }));
  stage.stop(epoch);
  const Heard end = stage.end_of(epoch);
  EXPECT_EQ(end.end, "released");
  EXPECT_EQ(end.checkpoints.back(), "42\n");
}

TEST(Examples, PythonTask) {
  HostStage stage({example("task.py")});
  EXPECT_EQ(stage.end_of(stage.start(JobKind::task, "one two three")).text, "3 words for key\n");
  EXPECT_EQ(stage.end_of(stage.start(JobKind::task, "later")).next, HoldReports::Next::requeue);
  EXPECT_EQ(stage.end_of(stage.start(JobKind::task, "never")).next, HoldReports::Next::bury);
  const Heard empty = stage.end_of(stage.start(JobKind::task, ""));
  EXPECT_EQ(empty.text, "the program ended with exit code 1: there are no words to count");
}

TEST(Examples, NodeResident) {
  if (std::system("node --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "node is not installed";
  HostStage stage({example("resident.js")}, Protocol::json);
  const std::uint64_t epoch = stage.start(JobKind::resident);
  ASSERT_TRUE(stage.started(epoch));
  stage.message(epoch, 1, "hello");
  ASSERT_TRUE(stage.wait(epoch, [](const Heard& heard) { return !heard.checkpoints.empty(); }));
  stage.stop(epoch);
  const Heard end = stage.end_of(epoch);
  EXPECT_EQ(end.end, "released");
  EXPECT_EQ(end.checkpoints, std::vector<Bytes>{"[\"hello\"]"});
}

}  // namespace
}  // namespace tenure::exec
