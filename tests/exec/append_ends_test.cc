// The guard writes the ends of sessions whose worker was killed. It may be late: then the pool has ended meanwhile.

#include "exec/append_ends.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "log/blocking.h"
#include "log/engines.h"
#include "log/open.h"
#include "log_conformance/temporary_directory.h"
#include "tenure/v1/record.pb.h"

namespace tenure::exec {
namespace {

using namespace std::chrono_literals;

TEST(AppendEnds, ReachTheLogOfThePoolAndMakeNone) {
  const auto engine = file_engine();
  if (!engine) GTEST_SKIP() << engine.error().message();
  const conformance::TemporaryDirectory folder;
  const std::string url = file_url(**engine, folder.path() + "/pool.db");
  guard::Ending ending;
  ending.url = url;
  ending.pool = "p";
  ending.session = 7;
  EXPECT_TRUE(append_ends({ending}, 10s)) << "there is nothing to end";
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));

  const auto log = open_log(url, {.pool = "p"});
  ASSERT_TRUE(log) << log.error().message();
  EXPECT_TRUE(append_ends({ending}, 10s));
  const auto entries = read_and_wait(**log, {});
  ASSERT_TRUE(entries) << entries.error().message();
  ASSERT_EQ(entries->size(), 1U);
  v1::Batch batch;
  ASSERT_TRUE(batch.ParseFromString(entries->front().data));
  ASSERT_EQ(batch.records_size(), 1);
  EXPECT_EQ(batch.records(0).end().session(), 7U);
}

}  // namespace
}  // namespace tenure::exec
