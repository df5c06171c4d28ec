// A start is cheap however large the worker is: the guard forks, and the guard is small. If the worker itself forked,
// it would have to copy the page tables of a gigabyte.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "exec/host_stage.h"

namespace tenure::guard {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLarge = 1U << 30;
constexpr int kStarts = 100;

class Gigabyte {
 public:
  Gigabyte()
      : memory_(mmap(nullptr, kLarge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)) {}
  ~Gigabyte() { munmap(memory_, kLarge); }
  Gigabyte(const Gigabyte&) = delete;
  Gigabyte& operator=(const Gigabyte&) = delete;
  bool there() const { return memory_ != MAP_FAILED; }

 private:
  void* memory_;
};

Nanos median(std::vector<Nanos> spans) {
  std::sort(spans.begin(), spans.end());
  return spans[spans.size() / 2];
}

// From start() to the report that the program has been executed.
Nanos measure_start(exec::HostStage& stage) {
  const Instant asked = BootClock().now();
  const std::uint64_t epoch = stage.start(JobKind::resident);
  EXPECT_TRUE(stage.started(epoch));
  const Nanos span = BootClock().now() - asked;
  stage.stop(epoch, 0s);
  stage.end_of(epoch);
  return span;
}

Nanos measure_fork() {
  const Instant asked = BootClock().now();
  const pid_t child = fork();
  if (child == 0) _exit(0);
  const Nanos span = BootClock().now() - asked;
  waitpid(child, nullptr, 0);
  return span;
}

TEST(StartTime, DoesNotGrowWithTheWorker) {
  exec::HostStage stage({"sleep", "1000"});
  const Gigabyte ballast;
  ASSERT_TRUE(ballast.there());
  std::vector<Nanos> starts;
  std::vector<Nanos> forks;
  for (int i = 0; i < kStarts; ++i) starts.push_back(measure_start(stage));
  for (int i = 0; i < 10; ++i) forks.push_back(measure_fork());
  const auto us = [](Nanos span) { return std::chrono::duration_cast<std::chrono::microseconds>(span).count(); };
  std::cout << "a worker of 1 GiB starts a program in " << us(median(starts)) << " us (median of " << kStarts
            << "); to fork itself would take it " << us(median(forks)) << " us\n";
  EXPECT_LT(median(starts), 100ms);  // generous: sanitizers, and a busy machine
}

}  // namespace
}  // namespace tenure::guard
