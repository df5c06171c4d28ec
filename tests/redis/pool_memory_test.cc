// The memory of a pool on a server does not grow with the number of jobs that it has processed. TENURE_MEMORY_JOBS sets
// how many jobs; an hour of a thousand a second is
//
//   TENURE_MEMORY_JOBS=3600000 build/release/tests/pool_conformance/redis_memory_test

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <semaphore>
#include <tenure/tenure.hpp>
#include <thread>

#include "redis/server.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWave = 500;
// A wave takes at least this long: an even load. The other test has none.
constexpr std::chrono::milliseconds kWaveSpan{50};
constexpr std::size_t kPayloadBytes = 1000;

std::size_t jobs_wanted() {
  const char* const text = std::getenv("TENURE_MEMORY_JOBS");
  return text == nullptr ? 50'000 : std::strtoull(text, nullptr, 10);
}

// What the server says of itself, in a line NAME:VALUE.
std::uint64_t info(const RedisServer& server, const std::string& name) {
  const std::string text = server.command({"INFO", "memory"});
  return std::strtoull(text.c_str() + text.find(name + ":") + name.size() + 1, nullptr, 10);
}

void do_wave(Pool& pool, std::size_t from) {
  std::vector<Ticket> tickets;
  for (std::size_t i = 0; i < kWave; ++i) {
    const std::string key = "key-" + std::to_string((from + i) % 500);
    Result<Ticket> ticket = pool.dispatch_task(key, std::string(kPayloadBytes, 'x'));
    ASSERT_TRUE(ticket) << ticket.error().message();
    tickets.push_back(*std::move(ticket));
  }
  for (const Ticket& ticket : tickets) {
    const auto done = ticket.wait_done(60s);
    ASSERT_TRUE(done) << done.error().message();
  }
}

// The log keeps some seconds of entries, and some megabytes that were not worth a snapshot. That must stay the same
// however long the pool lives.
TEST(RedisMemory, IsBoundedUnderLoad) {
  const RedisServer server;
  const std::uint64_t at_first = info(server, "used_memory");
  PoolOptions options;
  options.worker_ttl = 1s;
  options.max_queued_jobs = 2 * kWave;
  Pool pool("memory", server.url(), options);
  ASSERT_TRUE(pool.add_worker([](Job&) {}));
  const std::string log = "tenure:{memory}:log:" + server.command({"HGET", "tenure:{memory}:meta", "id"});
  const std::size_t waves = std::max<std::size_t>(jobs_wanted() / kWave, 4);
  std::uint64_t early = 0;  // the most in the first half
  std::uint64_t late = 0;   // and in the second
  std::uint64_t length = 0;
  for (std::size_t wave = 0; wave < waves; ++wave) {
    const auto next = std::chrono::steady_clock::now() + kWaveSpan;
    do_wave(pool, wave * kWave);
    std::this_thread::sleep_until(next);
    const std::uint64_t used = info(server, "used_memory") - at_first;
    std::uint64_t& most = wave < waves / 2 ? early : late;
    most = std::max(most, used);
    length = std::max(length, static_cast<std::uint64_t>(std::stoull(server.command({"XLEN", log}))));
  }
  const std::uint64_t through = waves * kWave * kPayloadBytes;
  std::printf("%zu jobs, %llu MB of payload: at most %llu MB used, then %llu MB; at most %llu entries kept\n",
              waves * kWave, static_cast<unsigned long long>(through >> 20),
              static_cast<unsigned long long>(early >> 20), static_cast<unsigned long long>(late >> 20),
              static_cast<unsigned long long>(length));
  EXPECT_LT(late, early + early / 2);
  EXPECT_LT(late, 40U << 20);
  ASSERT_TRUE(pool.shutdown());
  // Only the note that the pool was removed on purpose is left, and that expires.
  EXPECT_EQ(server.command({"KEYS", "*"}), "tenure:{memory}:removed");
}

// As many jobs as the machine can do, with the default lease of ten seconds: far more goes through the log in that time
// than it may keep, with one member or several that share the work. Afterwards the pool is idle, and the log shrinks.
class RedisMemoryOf : public testing::TestWithParam<int> {};

TEST_P(RedisMemoryOf, IsBoundedAtAnyRate) {
  constexpr std::ptrdiff_t kUnderWay = 4000;
  constexpr std::uint64_t kMost = 128U << 20;
  constexpr std::uint64_t kIdle = 16U << 20;
  const RedisServer server;
  const std::uint64_t at_first = info(server, "used_memory");
  PoolOptions options;
  options.max_queued_jobs = 2 * kUnderWay;  // so that the rate is the machine's and not the queue's
  Pool pool("memory", server.url(), options);
  ASSERT_TRUE(pool.add_worker([](Job&) {}));
  std::vector<std::unique_ptr<Pool>> others;
  while (others.size() + 1 < static_cast<std::size_t>(GetParam())) {
    others.push_back(std::make_unique<Pool>("memory", server.url(), options));
    ASSERT_TRUE(others.back()->add_worker([](Job&) {}));
  }

  std::counting_semaphore<> room(kUnderWay);
  std::atomic<std::size_t> done = 0;
  std::atomic<bool> over = false;
  std::atomic<std::uint64_t> most = 0;
  std::thread gauge([&] {
    while (!over) {
      most = std::max<std::uint64_t>(most, info(server, "used_memory") - at_first);
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
  std::printf("%zu jobs (%.0f/s), %zu MB of payload: at most %llu MB used\n", jobs,
              static_cast<double>(jobs) / span.count(), jobs * kPayloadBytes >> 20,
              static_cast<unsigned long long>(most >> 20));
  EXPECT_LT(most, kMost);

  const auto deadline = std::chrono::steady_clock::now() + 30s;
  std::uint64_t used = 0;
  do {
    std::this_thread::sleep_for(100ms);
    used = info(server, "used_memory") - at_first;
  } while (used >= kIdle && std::chrono::steady_clock::now() < deadline);
  EXPECT_LT(used, kIdle) << "the log does not shrink while the pool is idle";
}

INSTANTIATE_TEST_SUITE_P(Members, RedisMemoryOf, testing::Values(1, 3));

}  // namespace
}  // namespace tenure::conformance
