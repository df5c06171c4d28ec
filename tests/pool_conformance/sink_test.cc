// A pool that is fed from a stream is what other systems call a sink: acknowledgement, redelivery, negative
// acknowledgement with a delay, delivery limit and dead letters, on every engine and with shards. The stream is in
// memory: tests/source_conformance compares the kinds.

#include <atomic>
#include <map>
#include <mutex>
#include <tenure/stream_reader.hpp>

#include "pool_conformance/fixture.h"

namespace tenure::conformance {
namespace {

class PoolSink : public PoolConformance {
 protected:
  PoolSink() : engine_("memory:sink-" + std::to_string(next())), stream_(Stream::open(engine_, "events").value()) {}

  void add(const std::string& payload, const std::string& key = "k", const std::string& topic = "") {
    const auto position = stream_.add({.topic = topic, .key = key, .payload = payload});
    ASSERT_TRUE(position) << position.error().message();
  }
  void feed(Pool& pool) { ASSERT_EQ(problem(pool.add_source({.url = engine_ + "?stream=events"})), ""); }
  std::ptrdiff_t times(const std::string& line) {
    const auto pages = notes_.pages();
    return std::count(pages.begin(), pages.end(), line);
  }

  const std::string engine_;
  Stream stream_;

 private:
  static int next() {
    static std::atomic<int> last = 0;
    return ++last;
  }
};

// The handler's return is the acknowledgement. What it passes over is done, too, and never comes again.
TEST_P(PoolSink, WhatAHandlerPassesOverIsAcknowledged) {
  for (int i = 0; i < 20; ++i) add(std::to_string(i), "k" + std::to_string(i % 3), i % 2 == 0 ? "wanted" : "other");
  {
    Pool pool = open();
    pool.add_worker([this](Job& job) {
          notes_.write(job.payload());
          return Outcome();
        })
        .value();
    feed(pool);
    ASSERT_TRUE(notes_.wait_lines(20));
  }
  Pool pool = open();
  pool.add_worker([this](Job& job) {
        notes_.write("again " + job.payload());
        return Outcome();
      })
      .value();
  feed(pool);
  add("last");
  ASSERT_TRUE(notes_.wait_for("again last"));
  EXPECT_EQ(notes_.pages().size(), 21U);
}

// Negative acknowledgement with a delay: the event comes again, and the events of other keys do not wait for it.
TEST_P(PoolSink, ANackBringsTheEventBackAfterItsDelay) {
  Pool pool = open();
  std::atomic<int> nacks = 0;
  const auto began = std::chrono::steady_clock::now();
  pool.add_worker([&](Job& job) -> Outcome {
        if (job.payload() == "nack" && nacks++ == 0) return Requeue{300ms, "not now"};
        notes_.write(job.payload());
        return {};
      })
      .value();
  feed(pool);
  add("nack", "a");
  add("behind it", "a");
  add("beside it", "b");
  ASSERT_TRUE(notes_.wait_lines(3));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 300ms);
  EXPECT_EQ(notes_.pages(), (Notebook::Pages{"beside it", "nack", "behind it"}));
  EXPECT_TRUE(pool.dead_jobs().value().empty());
}

// A delivery limit, and a dead letter behind it. Intake goes on, and a person can try the event again.
TEST_P(PoolSink, AnEventThatAlwaysFailsBecomesADeadLetter) {
  std::atomic<bool> mended = false;
  Pool pool = open();
  pool.add_worker([&](Job& job) -> Outcome {
        notes_.write((job.payload() == "poison" && !mended ? "failed " : "done ") + job.payload());
        if (job.payload() == "poison" && !mended) return Outcome::failed("cannot");
        return {};
      })
      .value();
  feed(pool);
  add("poison", "a");
  for (int i = 0; i < 10; ++i) add(std::to_string(i), "a");
  ASSERT_TRUE(notes_.wait_for("done 9"));
  EXPECT_EQ(times("failed poison"), 3) << "max_attempts";
  const auto dead = pool.dead_jobs().value();
  ASSERT_EQ(dead.size(), 1U);
  mended = true;
  ASSERT_TRUE(pool.retry_dead(dead[0].id));
  ASSERT_TRUE(notes_.wait_for("done poison"));
}

// An event that no handler had finished comes to the next worker, also after everybody was gone for a while. Nothing
// has to be claimed, and nobody has to be declared dead first.
TEST_P(PoolSink, AfterAnOutageOfAllWorkersNothingIsMissing) {
  {
    Pool pool = open();
    feed(pool);
    for (int i = 0; i < 50; ++i) add(std::to_string(i), "k" + std::to_string(i % 5));
    // No worker takes them: they wait in the pool.
    ASSERT_EQ(problem(pool.sources()), "");
  }
  Pool pool = open();
  feed(pool);
  pool.add_worker([this](Job& job) {
        notes_.write(job.payload());
        return Outcome();
      })
      .value();
  ASSERT_TRUE(notes_.wait_lines(50));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(times(std::to_string(i)), 1);
}

// A bound that refuses holds up whoever adds. It takes nothing from the pool, whether the pool runs or not.
TEST_P(PoolSink, ABoundTakesNothingThatThePoolHasYetToTakeIn) {
  ASSERT_TRUE(stream_.set_bound({.events_max = 10}));
  for (int i = 0; i < 10; ++i) add(std::to_string(i));
  EXPECT_EQ(code_of(stream_.add({.payload = "too much"})), Errc::pool_full);
  Pool pool = open();
  pool.add_worker([this](Job& job) {
        notes_.write(job.payload());
        return Outcome();
      })
      .value();
  feed(pool);
  ASSERT_TRUE(notes_.wait_lines(10));
  EXPECT_EQ(code_of(stream_.add({.payload = "too much"})), Errc::pool_full) << "until somebody trims it";
  // A shard without tasks of the source hears of the position a second later.
  std::uint64_t position = 0;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (position < stream_.state().value().last && std::chrono::steady_clock::now() < deadline) {
    for (const SourceInfo& info : pool.sources().value()) position = std::max(position, info.position);
  }
  ASSERT_TRUE(stream_.trim(position + 1));
  add("10");
  ASSERT_TRUE(notes_.wait_for("10"));
  for (const SourceInfo& info : pool.sources().value()) EXPECT_EQ(info.lost, 0U);
}

// With the policy that drops, what the pool had yet to take in is lost, and counted.
TEST_P(PoolSink, WhatABoundDroppedIsCounted) {
  ASSERT_TRUE(stream_.set_bound({.events_max = 5, .policy = StreamBound::Policy::drop_oldest}));
  Pool pool = open();
  pool.add_worker([this](Job& job) {
        notes_.write(job.payload());
        return Outcome();
      })
      .value();
  ASSERT_EQ(problem(pool.add_source({.url = engine_ + "?stream=events", .start = "1"})), "");
  std::vector<StreamEvent> events;
  for (int i = 0; i < 20; ++i) events.push_back({.key = "k", .payload = std::to_string(i)});
  ASSERT_TRUE(stream_.add_all(events));
  ASSERT_TRUE(notes_.wait_for("19"));
  const auto lost = [&] {
    std::uint64_t count = 0;
    for (const SourceInfo& info : pool.sources().value()) count += info.lost;
    return count;
  };
  // The loss is told with a later emit than the one that brought the events, at the latest a second after it.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (lost() < 15 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(lost(), 15U);
  EXPECT_EQ(notes_.pages().size(), 5U);
}

// A reader beside the pool sees every event, and takes none from it.
TEST_P(PoolSink, AReaderBesideThePoolSeesEverythingToo) {
  auto reader = StreamReader::open(engine_, {"events"}).value();
  Pool pool = open();
  pool.add_worker([this](Job& job) {
        notes_.write(job.payload());
        return Outcome();
      })
      .value();
  feed(pool);
  for (int i = 0; i < 10; ++i) add(std::to_string(i));
  for (int i = 0; i < 10; ++i) {
    const auto item = reader.next(kPatience);
    ASSERT_TRUE(item);
    EXPECT_EQ(std::get<StreamEvent>(*item).payload, std::to_string(i));
  }
  ASSERT_TRUE(notes_.wait_lines(10));
}

INSTANTIATE_TEST_SUITE_P(Engines, PoolSink, testing::ValuesIn(pool_engines()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::conformance
