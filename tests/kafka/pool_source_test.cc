// A pool is fed from a topic on a real broker: what a plain producer writes is done once and in the order of its key,
// while processes that read it come and go, partitions are added, records are deleted, and the topic is made again.

#include <condition_variable>
#include <map>
#include <mutex>
#include <tenure/tenure.hpp>

#include "kafka/source_place.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kLong{60};

class KafkaPoolSourceTest : public KafkaSourceTest {
 protected:
  Pool open() {
    PoolOptions options;
    options.guard = Guard::off;
    options.logger = [this](LogLevel, std::string_view text) { note("log: " + std::string(text)); };
    return {"fed", "memory:" + topic(), std::move(options)};
  }
  void work(Pool& pool) {
    pool.add_worker([this](Job& job) {
          const std::lock_guard lock(mutex_);
          done_[job.key()].push_back(job.payload());
          ++count_;
          changed_.notify_all();
        })
        .value();
  }
  void note(std::string line) {
    const std::lock_guard lock(mutex_);
    log_.push_back(std::move(line));
    changed_.notify_all();
  }
  bool wait_count(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLong, [&] { return count_ >= count; });
  }
  bool wait_log(const std::string& part) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLong, [&] {
      return std::any_of(log_.begin(), log_.end(), [&](const auto& line) { return line.find(part) != line.npos; });
    });
  }
  // One key for each partition.
  void produce(int partition, int count) {
    const std::string key = "key-" + std::to_string(partition);
    for (int i = 0; i < count; ++i) {
      expected_[key].push_back(std::to_string(added_));
      producer().write(topic(), partition, {.key = key, .value = std::to_string(added_++)});
    }
  }
  void expect_all() {
    ASSERT_TRUE(wait_count(added_));
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(done_, expected_);
  }
  SourceInfo info_of(Pool& pool, const std::string& partition) {
    for (const SourceInfo& info : pool.sources().value()) {
      if (info.partition == partition) return info;
    }
    return {};
  }

  std::map<std::string, std::vector<std::string>> expected_;
  std::size_t added_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<std::string>> done_;  // this and below: guarded by mutex_
  std::size_t count_ = 0;
  std::vector<std::string> log_;
};

TEST_F(KafkaPoolSourceTest, EachRecordIsDoneOnceWhileReadersComeAndGo) {
  make_topic(3);
  Pool worker = open();
  work(worker);
  auto first = std::make_unique<Pool>(open());
  const Status added = first->add_source({.url = url()});
  ASSERT_TRUE(added) << added.error().message();
  for (int partition = 0; partition < 3; ++partition) produce(partition, 60);
  ASSERT_TRUE(wait_count(90));
  Pool second = open();
  ASSERT_TRUE(second.add_source({.url = url()}));
  for (int partition = 0; partition < 3; ++partition) produce(partition, 60);
  ASSERT_TRUE(first->close());
  first.reset();
  for (int partition = 0; partition < 3; ++partition) produce(partition, 60);
  admin().add_partitions(topic(), 4);
  produce(3, 20);
  expect_all();
}

TEST_F(KafkaPoolSourceTest, DeletedRecordsAreCountedAndATopicThatWasMadeAgainIsNoticed) {
  make_topic(1);
  Pool worker = open();
  work(worker);
  {
    Pool reader = open();
    ASSERT_TRUE(reader.add_source({.url = url()}));
    produce(0, 10);
    ASSERT_TRUE(wait_count(10));
  }
  for (int i = 0; i < 7; ++i) producer().write(topic(), 0, {.key = "gone", .value = "gone"});
  admin().drop_before(topic(), 0, 17);
  Pool reader = open();
  ASSERT_TRUE(reader.add_source({.url = url()}));
  produce(0, 5);
  expect_all();
  ASSERT_TRUE(wait_log("lost the events at positions 11 to 17 (7)"));
  EXPECT_EQ(info_of(reader, "0").lost, 7U);
  admin().delete_topics({topic()});
  make_topic(1);
  produce(0, 5);
  expect_all();
  EXPECT_TRUE(wait_log("deleted and made again"));
}

TEST_F(KafkaPoolSourceTest, AMissingTopicIsSaidAndReadOnceItIsThere) {
  Pool pool = open();
  work(pool);
  ASSERT_TRUE(pool.add_source({.url = url()}));
  ASSERT_TRUE(wait_log("log: source "));
  make_topic(1);
  produce(0, 5);
  expect_all();
}

}  // namespace
}  // namespace tenure::conformance
