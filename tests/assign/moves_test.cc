// Counts how many keys move when one of a hundred workers leaves, and in a rolling restart of all: jump over the list
// sorted by age, compared with rendezvous. The default was chosen by these figures.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "assign/jump.h"
#include "assign/rendezvous.h"
#include "assign/worker_sets.h"

namespace tenure::test {
namespace {

constexpr std::size_t kWorkers = 100;
constexpr std::size_t kKeysMoved = 10'000;

// Workers by age, the oldest first.
std::vector<Place> pool() {
  std::vector<Place> workers;
  workers.reserve(kWorkers);
  for (std::size_t i = 0; i < kWorkers; ++i) workers.push_back({worker_seed(i), kWeightDefault});
  return workers;
}

using Choose = std::uint64_t (*)(std::uint64_t key, const std::vector<Place>& workers);

std::uint64_t by_jump(std::uint64_t key, const std::vector<Place>& workers) {
  return workers[jump_choose(key, static_cast<std::uint32_t>(workers.size()))].seed;
}

std::uint64_t by_rendezvous(std::uint64_t key, const std::vector<Place>& workers) {
  return workers[rendezvous_choose(key, workers)].seed;
}

std::vector<std::uint64_t> all_holders(Choose choose, const std::vector<Place>& workers) {
  std::vector<std::uint64_t> seeds;
  seeds.reserve(kKeysMoved);
  for (std::size_t i = 0; i < kKeysMoved; ++i) seeds.push_back(choose(key_hash(i), workers));
  return seeds;
}

std::size_t count_moves(const std::vector<std::uint64_t>& before, const std::vector<std::uint64_t>& after) {
  std::size_t moves = 0;
  for (std::size_t i = 0; i < before.size(); ++i) moves += before[i] != after[i] ? 1 : 0;
  return moves;
}

// The share of keys, in percent, that move when the worker at `index` leaves.
double moved_by_leave(Choose choose, std::size_t index) {
  auto workers = pool();
  const auto before = all_holders(choose, workers);
  workers.erase(workers.begin() + static_cast<std::ptrdiff_t>(index));
  return 100.0 * static_cast<double>(count_moves(before, all_holders(choose, workers))) / kKeysMoved;
}

TEST(Moves, JumpMovesNearlyAllKeysWhenTheOldestLeaves) {
  EXPECT_GT(moved_by_leave(by_jump, 0), 99.9);
  EXPECT_NEAR(moved_by_leave(by_jump, kWorkers / 2), 50, 2);
  EXPECT_NEAR(moved_by_leave(by_jump, kWorkers - 1), 1, 0.3);
}

TEST(Moves, RendezvousMovesTheLeaversShareWhoeverLeaves) {
  EXPECT_NEAR(moved_by_leave(by_rendezvous, 0), 1, 0.3);
  EXPECT_NEAR(moved_by_leave(by_rendezvous, kWorkers / 2), 1, 0.3);
  EXPECT_NEAR(moved_by_leave(by_rendezvous, kWorkers - 1), 1, 0.3);
}

// Every worker in turn leaves and comes back as a new one, the youngest. Jump moves a key a hundred times over.
TEST(Moves, RollingRestartUnderJump) {
  auto workers = pool();
  std::size_t moves = 0;
  auto held = all_holders(by_jump, workers);
  for (std::size_t i = 0; i < kWorkers; ++i) {
    workers.erase(workers.begin());
    auto after_leave = all_holders(by_jump, workers);
    workers.push_back({worker_seed(kWorkers + i), kWeightDefault});
    auto after_join = all_holders(by_jump, workers);
    moves += count_moves(held, after_leave) + count_moves(after_leave, after_join);
    held = std::move(after_join);
  }
  EXPECT_NEAR(static_cast<double>(moves) / kKeysMoved, 101, 1);
}

// Rendezvous moves it twice. As in the pool, a leave looks only at the leaver's keys, and a join compares the joiner
// with the present holder alone; at the end every key must be where a choice among all workers puts it.
TEST(Moves, RollingRestartUnderRendezvous) {
  auto workers = pool();
  std::vector<Place> held;
  held.reserve(kKeysMoved);
  for (std::size_t i = 0; i < kKeysMoved; ++i) held.push_back(workers[rendezvous_choose(key_hash(i), workers)]);
  std::size_t moves = 0;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    const Place leaver = workers.front();
    const Place joiner{worker_seed(kWorkers + i), kWeightDefault};
    workers.erase(workers.begin());
    for (std::size_t k = 0; k < kKeysMoved; ++k) {
      if (held[k].seed == leaver.seed) {
        held[k] = workers[rendezvous_choose(key_hash(k), workers)];
        ++moves;
      }
      if (rendezvous_prefers(key_hash(k), joiner, held[k])) {
        held[k] = joiner;
        ++moves;
      }
    }
    workers.push_back(joiner);
  }
  EXPECT_NEAR(static_cast<double>(moves) / kKeysMoved, 2, 0.1);
  for (std::size_t k = 0; k < kKeysMoved; ++k) ASSERT_EQ(held[k].seed, by_rendezvous(key_hash(k), workers));
}

}  // namespace
}  // namespace tenure::test
