// Input that is refused before anything is written.

#include <fstream>

#include "log/engines.h"
#include "log_conformance/temporary_directory.h"
#include "pool_conformance/fixture.h"

namespace tenure::conformance {
namespace {

class PoolInput : public PoolConformance {};

TEST_P(PoolInput, KeysPayloadsAndMessages) {
  Pool pool = open();
  for (const auto& refused :
       {pool.dispatch(""), pool.dispatch_task(""), pool.notify("", "x"), pool.stop(""),
        pool.dispatch(std::string(1025, 'k')), pool.dispatch("k", std::string((1U << 20) + 1, 'p')),
        pool.notify("k", std::string((64U << 10) + 1, 'm')), pool.dispatch_task("k", "", {.delay = -1ms}),
        pool.dispatch_task("k", "", {.delay = std::chrono::hours(24 * 400)})}) {
    ASSERT_EQ(code_of(refused), Errc::invalid);
    EXPECT_FALSE(refused.error().context.empty());
  }
  EXPECT_EQ(pool.keys().value().keys.size(), 0U);
}

// The largest of everything is taken, and bytes are bytes.
TEST_P(PoolInput, LargestAndOddest) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker([](Job& job) { return job.payload(); }));
  const std::string payload(1U << 20, 'p');
  EXPECT_EQ(pool.dispatch_task(std::string(1024, 'k'), payload).value().wait_done(kPatience).value(), payload);
  const std::string odd("\0\xff\n\xc3(", 5);
  EXPECT_EQ(pool.dispatch_task(odd, odd).value().wait_done(kPatience).value(), odd);
}

TEST_P(PoolInput, Workers) {
  Pool pool = open();
  const auto code = [&](WorkerOptions options) { return code_of(pool.add_worker([](Job&) {}, std::move(options))); };
  EXPECT_EQ(code({.id = std::string(257, 'w')}), Errc::invalid);
  EXPECT_EQ(code({.weight = 10'001}), Errc::invalid);
  EXPECT_EQ(code({.window = 0}), Errc::invalid);
  EXPECT_EQ(code({.serves = {""}}), Errc::invalid);
  EXPECT_EQ(code_of(pool.add_worker(std::shared_ptr<Handler>())), Errc::invalid);
  EXPECT_EQ(code_of(pool.drain("")), Errc::invalid);
}

TEST_P(PoolInput, Options) {
  const auto code = [&](const std::function<void(PoolOptions&)>& change) {
    PoolOptions options = quick();
    change(options);
    return code_of(Pool::open("default", url(), options));
  };
  EXPECT_EQ(code([](PoolOptions&) {}), Errc{});
  EXPECT_EQ(code([](PoolOptions& options) { options.worker_ttl = 1ms; }), Errc::invalid);
  EXPECT_EQ(code([](PoolOptions& options) { options.max_queued_jobs = 0; }), Errc::invalid);
  EXPECT_EQ(code([](PoolOptions& options) { options.max_attempts = 0; }), Errc::invalid);
  EXPECT_EQ(code([](PoolOptions& options) { options.pending_job_ttl = 0ms; }), Errc::invalid);
  EXPECT_EQ(code([](PoolOptions& options) { options.concurrency = 100'000; }), Errc::invalid);
  EXPECT_EQ(code([](PoolOptions& options) { options.assignment = Assignment::chosen; }), Errc::invalid);
  const ChooseWorker first = [](std::string_view, const std::vector<WorkerView>&) { return std::size_t{0}; };
  EXPECT_EQ(code([&](PoolOptions& options) { options.choose = first; }), Errc::invalid) << "it would not be called";
}

INSTANTIATE_TEST_SUITE_P(Engines, PoolInput, testing::ValuesIn(pool_engines()), testing::PrintToStringParamName());

// The options that the seeds name have the seeds' defaults.
TEST(PoolOptionsDefaults, AreTheSeeds) {
  const PoolOptions options;
  EXPECT_EQ(options.worker_ttl, 0s) << "the engine's default";
  EXPECT_EQ(default_lease("memory:x"), 10s);
  EXPECT_EQ(default_lease("kafka://localhost"), 30s);
  EXPECT_EQ(options.pending_job_ttl, 20s);
  EXPECT_EQ(options.worker_shutdown_ttl, 2min);
  EXPECT_EQ(options.max_queued_jobs, 1000U);
  EXPECT_FALSE(options.client_only);
}

TEST(PoolUrl, MalformedOrUnreadable) {
  for (const char* url : {"", "nothing", "ftp://x", "sqlite:", "sqlite:/no/such/folder/pool.db", "sqlite:/tmp"}) {
    EXPECT_FALSE(Pool::open("p", url)) << url;
    EXPECT_THROW(Pool("p", url), BadResult) << url;
  }
  EXPECT_EQ(code_of(Pool::open("", "memory:x")), Errc::invalid);
  const TemporaryDirectory folder;
  const std::string path = folder.path() + "/not-a-database";
  std::ofstream(path) << std::string(5000, 'x');
  EXPECT_FALSE(Pool::open("p", "sqlite:" + path));
}

}  // namespace
}  // namespace tenure::conformance
