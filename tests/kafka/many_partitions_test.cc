// A topic of a hundred partitions: memory and threads are bounded, whether all of it is read, or a part, or nothing.

#include <filesystem>
#include <fstream>
#include <iterator>

#include "kafka/source_place.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

constexpr int kPartitions = 100;
#ifdef TENURE_SANITIZED
constexpr int kEach = 200;
constexpr std::size_t kGrowthMax = 512U << 20;
#else
constexpr int kEach = 2000;
constexpr std::size_t kGrowthMax = 96U << 20;
#endif
constexpr std::size_t kRecordBytes = 1000;

std::size_t thread_count() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

std::size_t resident() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages >> pages;
  return pages * 4096;
}

class KafkaManyPartitions : public KafkaSourceTest {
 protected:
  // 200 MB, or a tenth of that under a sanitizer.
  void fill() const {
    make_topic(kPartitions);
    const std::string value(kRecordBytes, 'x');
    for (int i = 0; i < kPartitions; ++i) producer().flood(topic(), i, kEach, value);
  }
};

// Half of the partitions are read to their end while nobody reads the others. Then the others are.
TEST_F(KafkaManyPartitions, AreReadWithBoundedMemoryAndThreads) {
  fill();
  const std::size_t threads_before = thread_count();
  const std::size_t before = resident();
  const auto from = source_at(url());
  const auto names = from->partitions();
  ASSERT_TRUE(names);
  ASSERT_EQ(names->size(), static_cast<std::size_t>(kPartitions));
  for (const Bytes& name : *names) ASSERT_TRUE(from->open(name, 0, {}));
  std::vector<std::uint64_t> position(kPartitions);
  std::size_t most = 0;
  const BootClock clock;
  const auto read_all = [&](std::size_t first, std::size_t end) {
    const Instant deadline = clock.now() + kDeadline;
    for (std::size_t left = end - first; left > 0 && clock.now() < deadline;) {
      std::size_t events = 0;
      left = 0;
      for (std::size_t i = first; i < end; ++i) {
        const auto run = from->read((*names)[i], {});
        ASSERT_TRUE(run) << run.error().message();
        events += run->events.size();
        position[i] = std::max(position[i], run->position);
        if (position[i] < kEach) ++left;
      }
      most = std::max(most, resident());
      if (events == 0 && left > 0) from->wait(clock.now() + 100ms);
    }
    for (std::size_t i = first; i < end; ++i) EXPECT_EQ(position[i], static_cast<std::uint64_t>(kEach)) << i;
  };
  read_all(0, kPartitions / 2);
  EXPECT_EQ(position.back(), 0U);
  read_all(kPartitions / 2, kPartitions);
  EXPECT_LT(most, before + kGrowthMax) << (most - before) / 1'000'000 << " MB more";
  EXPECT_LE(thread_count(), threads_before + 12) << "before: " << threads_before;
  RecordProperty("growth_mb", static_cast<int>((most - before) / 1'000'000));
  RecordProperty("threads", static_cast<int>(thread_count() - threads_before));
}

}  // namespace
}  // namespace tenure::conformance
