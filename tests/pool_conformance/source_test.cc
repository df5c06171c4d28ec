// A pool reads a stream by itself, on every engine and with shards: each event is done once, in the order of its key,
// while processes that read it come, go and are closed in the middle.

#include <map>
#include <mutex>

#include "pool_conformance/fixture.h"
#include "source/source.h"

namespace tenure::conformance {
namespace {

class PoolSource : public PoolConformance {
 protected:
  PoolSource() {
    // Streams in memory are as good as any other here: tests/source_conformance compares them.
    static std::atomic<int> streams = 0;
    source_ = "memory:pool-source-" + std::to_string(++streams) + "?stream=events";
    writer_ = source::open_stream_writer(source_, true).value();
  }
  void add(std::size_t events) {
    std::vector<source::Event> all;
    for (std::size_t i = 0; i < events; ++i, ++added_) {
      source::Event event;
      event.key = "key-" + std::to_string(added_ % 7);
      event.payload = std::to_string(added_);
      expected_[*event.key].push_back(event.payload);
      all.push_back(std::move(event));
    }
    ASSERT_EQ(problem(writer_->add(all)), "");
  }
  void work(Pool& pool) {
    pool.add_worker([this](Job& job) {
          {
            const std::lock_guard lock(mutex_);
            done_[job.key()].push_back(job.payload());
          }
          notes_.write("done");
          return Outcome();
        })
        .value();
  }
  void expect_all() {
    ASSERT_TRUE(notes_.wait_lines(added_));
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(done_, expected_);
  }

  std::string source_;
  std::unique_ptr<source::StreamWriter> writer_;
  std::size_t added_ = 0;
  std::map<std::string, std::vector<std::string>> expected_;
  std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> done_;  // guarded by mutex_
};

TEST_P(PoolSource, EachEventIsDoneOnceThroughHandovers) {
  Pool worker = open();
  work(worker);
  add(200);
  {
    Pool first = open();
    ASSERT_EQ(problem(first.add_source({.url = source_})), "");
    ASSERT_TRUE(notes_.wait_lines(100));
    add(300);
  }
  Pool second = open();
  ASSERT_EQ(problem(second.add_source({.url = source_})), "");
  add(100);
  expect_all();
  const std::vector<SourceInfo> sources = second.sources().value();
  std::uint64_t tasks = 0;
  for (const SourceInfo& info : sources) tasks += info.tasks;
  EXPECT_EQ(tasks, added_);
  EXPECT_EQ(sources.back().name, "events");
  EXPECT_EQ(sources.back().partition, "0");
}

TEST_P(PoolSource, AFullQueueHoldsItUp) {
  PoolOptions options = quick();
  options.max_queued_jobs = 5;
  Pool pool = open(options);
  add(100);
  ASSERT_EQ(problem(pool.add_source({.url = source_})), "");
  work(pool);
  expect_all();
}

TEST_P(PoolSource, ARemovedSourceBeginsAnew) {
  Pool pool = open();
  work(pool);
  add(10);
  ASSERT_EQ(problem(pool.add_source({.url = source_})), "");
  ASSERT_TRUE(notes_.wait_lines(10));
  Pool other = open(client());
  ASSERT_EQ(problem(other.remove_source("events")), "");
  EXPECT_TRUE(other.sources().value().empty());
  EXPECT_EQ(code_of(other.remove_source("events")), Errc::no_such_key);
  EXPECT_EQ(code_of(other.add_source({.url = source_})), Errc::invalid) << "a client reads nothing";
  Pool again = open();
  ASSERT_EQ(problem(again.add_source({.url = source_, .start = "9"})), "");
  ASSERT_TRUE(notes_.wait_lines(12));
}

INSTANTIATE_TEST_SUITE_P(Engines, PoolSource, testing::ValuesIn(pool_engines()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::conformance
