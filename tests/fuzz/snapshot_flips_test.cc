// Changes every byte of a rich snapshot in several ways and corrects the sum. Each is refused, or gives a machine that
// passes all exercises. A fuzzer rarely gets past so many checks; this test does it systematically.

#include <gtest/gtest.h>

#include <array>

#include "fuzz/exercise.h"
#include "fuzz/snapshot_sum.h"
#include "machine/pool.h"

namespace tenure::test {
namespace {

// Something of everything that a state can have.
void fill(TestPool& pool) {
  v1::Configure options;
  options.set_quarantine_after_plus_one(3);
  pool.append(rec::configure(options));
  for (const char* key : {"r1", "r2", "t1", "t2"}) key[0] == 'r' ? pool.resident(key) : pool.task(key);
  pool.crash(pool.node("a"));
  pool.node("a", {.window = 2, .serves = {"r1", "s"}});
  pool.node("b", {.weight = 50, .serves = {"s"}});
  pool.settle();
  pool.notify("r1", "message");
  pool.checkpoint("r1", "checkpoint");
  pool.running("stopping");
  pool.stop("stopping", true);
  pool.stop("stopping");
  pool.running("dead");
  pool.failed("dead", v1::Failed::BURY);
  for (int i = 0; i < 4; ++i)
    pool.task("t3", {.payload = "p", .delay_ms = i % 2 == 0 ? 9'000U : 0U, .answer_in_log = true});
  pool.failed("t3", v1::Failed::BURY);
  pool.failed("t3");
  pool.resident("starting");
  pool.stop("starting");
  pool.append(rec::drain("b"));
}

struct Parts {
  Bytes global;
  std::vector<Bytes> items;
};

Parts parts_of(Machine& machine) {
  Parts parts;
  for (const Bytes& bytes : save(machine)) {
    v1::SnapshotChunk chunk;
    EXPECT_TRUE(chunk.ParseFromString(bytes));
    parts.global += chunk.global();
    parts.items.insert(parts.items.end(), chunk.items().begin(), chunk.items().end());
  }
  return parts;
}

bool restores_and_stands(const Parts& parts) {
  Machine machine;
  if (!machine.restore({snapshot_of(parts.global, parts.items)})) return false;
  expect_restorable(machine);
  Feeder feeder(machine, 1'800'000'000'000);
  exercise(machine, feeder);
  return true;
}

#ifdef TENURE_SANITIZED
constexpr int kChangesAByte = 1;
#else
constexpr int kChangesAByte = 5;
#endif

TEST(SnapshotFlips, EveryChangedByteIsRefusedOrHarmless) {
  TestPool pool;
  fill(pool);
  Parts parts = parts_of(pool.machine());
  ASSERT_TRUE(restores_and_stands(parts));
  int refused = 0;
  int restored = 0;
  std::size_t turn = 0;
  const auto flip_all = [&](Bytes& bytes) {
    constexpr std::array kChanges = {1, 2, 4, 0x40, 0x7f};
    for (char& byte : bytes) {
      const char before = byte;
      for (int i = 0; i < kChangesAByte; ++i) {
        byte = static_cast<char>(before ^ kChanges[turn++ % kChanges.size()]);
        ++(restores_and_stands(parts) ? restored : refused);
      }
      byte = before;
    }
  };
  flip_all(parts.global);
  for (Bytes& item : parts.items) flip_all(item);
  EXPECT_GT(refused, 200 * kChangesAByte);
  EXPECT_GT(restored, 100 * kChangesAByte) << "changes of payloads, ids and the like";
}

// Each item and each pair of neighbours may be missing, doubled or exchanged.
TEST(SnapshotFlips, MissingAndDoubledItemsAreRefused) {
  TestPool pool;
  fill(pool);
  const Parts parts = parts_of(pool.machine());
  for (std::size_t i = 0; i < parts.items.size(); ++i) {
    Parts missing = parts;
    missing.items.erase(missing.items.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(restores_and_stands(missing));
    Parts doubled = parts;
    doubled.items.push_back(parts.items[i]);
    EXPECT_FALSE(restores_and_stands(doubled));
    Parts swapped = parts;
    swapped.items[i] = parts.items[(i + 1) % parts.items.size()];
    EXPECT_FALSE(restores_and_stands(swapped));
  }
}

}  // namespace
}  // namespace tenure::test
