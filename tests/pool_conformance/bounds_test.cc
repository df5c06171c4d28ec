// What the pool's options bound, and whose options count.

#include "pool_conformance/fixture.h"

namespace tenure::conformance {
namespace {

class PoolBounds : public PoolConformance {};

int accepted_of_20(Pool pool) {
  int accepted = 0;
  for (int i = 0; i < 20; ++i) accepted += pool.dispatch_task("k").value().wait_accepted(kPatience) ? 1 : 0;
  return accepted;
}

// Tasks for next week do not keep today's out.
TEST_P(PoolBounds, DelayedJobsHaveABoundOfTheirOwn) {
  PoolOptions options = quick();
  options.max_delayed_jobs = 2;
  options.max_queued_jobs = 1;
  Pool pool = open(options);
  DispatchOptions later;
  later.delay = std::chrono::hours(24);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(problem(pool.dispatch_task("k", "", later).value().wait_accepted(kPatience)), "");
  }
  const Status refused = pool.dispatch_task("k", "", later).value().wait_accepted(kPatience);
  EXPECT_EQ(code_of(refused), Errc::pool_full);
  EXPECT_NE(problem(refused).find("max_delayed_jobs"), std::string::npos) << problem(refused);
  const Ticket now = pool.dispatch_task("k").value();
  EXPECT_EQ(problem(now.wait_accepted(kPatience)), "");
  const Status full = pool.dispatch_task("k").value().wait_accepted(kPatience);
  EXPECT_EQ(code_of(full), Errc::pool_full);
  EXPECT_NE(problem(full).find("max_queued_jobs"), std::string::npos) << problem(full);
  ASSERT_TRUE(pool.add_worker([](Job&) {}));
  EXPECT_EQ(problem(now.wait_done(kPatience)), "");
}

// The bound counts before there is any worker, whoever creates the pool.
TEST_P(PoolBounds, CountsFromTheFirstDispatchOn) {
  PoolOptions options = quick();
  options.max_queued_jobs = 5;
  EXPECT_EQ(accepted_of_20(open(options)), 5);
}

TEST_P(PoolBounds, CountsFromTheFirstDispatchOfAClientOn) {
  PoolOptions options = client();
  options.max_queued_jobs = 5;
  EXPECT_EQ(accepted_of_20(open(options)), 5);
}

// Options that have no effect are reported.
TEST_P(PoolBounds, OptionsThatDifferFromThePoolsAreReported) {
  PoolOptions first = quick();
  first.max_attempts = 7;
  Pool pool = open(first);
  ASSERT_TRUE(pool.add_worker([](Job&) {}));
  PoolOptions second = quick();
  second.max_attempts = 3;
  second.logger = [this](LogLevel, std::string_view line) { notes_.write(std::string(line)); };
  Pool other = open(second);
  EXPECT_TRUE(notes_.wait([](const Notebook::Pages& pages) {
    return std::any_of(pages.begin(), pages.end(), [](const std::string& line) {
      return line.find("max_attempts 3 (the pool has 7)") != std::string::npos;
    });
  }));
}

// Who has waited for serve() and drain() finds them in effect.
TEST_P(PoolBounds, ServeAndDrainCanBeWaitedFor) {
  Pool pool = open();
  Worker a = pool.add_worker(std::make_shared<Resident>(notes_, "a "), {.id = "a"}).value();
  Pool other = open();
  ASSERT_TRUE(other.add_worker(std::make_shared<Resident>(notes_, "b "), {.id = "b"}));
  ASSERT_EQ(problem(a.serve({"door"}, kPatience)), "");
  ASSERT_EQ(problem(pool.dispatch("door").value().wait_started(kPatience)), "");
  EXPECT_EQ(pool.holder("door").value().worker, "a");
  ASSERT_EQ(problem(other.drain("a", Pool::DrainUntil::empty, kPatience)), "");
  const std::vector<WorkerInfo> workers = other.workers().value();
  const auto drained =
      std::find_if(workers.begin(), workers.end(), [](const WorkerInfo& info) { return info.id == "a"; });
  ASSERT_NE(drained, workers.end());
  EXPECT_EQ(drained->keys, 0U);
}

INSTANTIATE_TEST_SUITE_P(Engines, PoolBounds, testing::ValuesIn(pool_engines()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::conformance
