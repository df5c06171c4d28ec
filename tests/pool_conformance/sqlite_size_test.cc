// The disk space of a pool does not grow with the number of jobs that it has processed.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <semaphore>
#include <tenure/tenure.hpp>
#include <thread>

#include "log_conformance/temporary_directory.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPayloadBytes = 1000;

// The database and all that lies beside it.
std::uint64_t bytes_in(const std::string& folder) {
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::error_code gone;
    const auto size = file.file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

// As many jobs as the machine can do, with the default lease of ten seconds: far more goes through the log in that time
// than it may keep. Afterwards the pool is idle, and the files shrink.
TEST(SqliteSize, IsBoundedAtAnyRate) {
  constexpr std::ptrdiff_t kUnderWay = 4000;
  constexpr std::uint64_t kMost = 128U << 20;
  constexpr std::uint64_t kIdle = 16U << 20;
  const TemporaryDirectory folder;
  PoolOptions options;
  options.max_queued_jobs = 2 * kUnderWay;  // so that the rate is the machine's and not the queue's
  Pool pool("size", "sqlite:" + folder.path() + "/pool.db?sync=off", options);
  ASSERT_TRUE(pool.add_worker([](Job&) {}));

  std::counting_semaphore<> room(kUnderWay);
  std::atomic<std::size_t> done = 0;
  std::atomic<bool> over = false;
  std::atomic<std::uint64_t> most = 0;
  std::thread gauge([&] {
    while (!over) {
      most = std::max<std::uint64_t>(most, bytes_in(folder.path()));
      std::this_thread::sleep_for(20ms);
    }
  });
  const auto began = std::chrono::steady_clock::now();
  std::size_t jobs = 0;
  for (; std::chrono::steady_clock::now() - began < 6s; ++jobs) {
    room.acquire();
    Result<Ticket> ticket = pool.dispatch_task("key-" + std::to_string(jobs % 500), std::string(kPayloadBytes, 'x'));
    ASSERT_TRUE(ticket) << ticket.error().message();
    ticket->on_done([&](const Result<std::string>& result) {
      if (result) ++done;
      room.release();
    });
  }
  for (std::ptrdiff_t i = 0; i < kUnderWay; ++i) room.acquire();
  const std::chrono::duration<double> span = std::chrono::steady_clock::now() - began;
  over = true;
  gauge.join();
  EXPECT_EQ(done, jobs);
  std::printf("%zu jobs (%.0f/s), %zu MB of payload: at most %llu MB on the disk\n", jobs,
              static_cast<double>(jobs) / span.count(), jobs * kPayloadBytes >> 20,
              static_cast<unsigned long long>(most >> 20));
  EXPECT_LT(most, kMost);

  const auto deadline = std::chrono::steady_clock::now() + 30s;
  std::uint64_t used = 0;
  do {
    std::this_thread::sleep_for(100ms);
    used = bytes_in(folder.path());
  } while (used >= kIdle && std::chrono::steady_clock::now() < deadline);
  EXPECT_LT(used, kIdle) << "the files do not shrink while the pool is idle";
}

}  // namespace
}  // namespace tenure::conformance
