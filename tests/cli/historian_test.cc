// The state keeps the same history of a key as a follower of the log records.

#include "cli/historian.h"

#include <gtest/gtest.h>

#include "machine/pool.h"
#include "node/keys/listing.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

using test::TestPool;

// From the entry of that number on; before it, from a snapshot.
std::vector<Tenure> followed(const TestPool& pool, const std::string& key, std::size_t from = 0) {
  test::Recorder ignored;
  Machine before;
  for (std::size_t i = 0; i < from; ++i) before.apply(pool.log()[i].view(), ignored);
  Machine machine;
  if (from != 0) {
    EXPECT_TRUE(machine.restore(test::save(before)));
  }
  Historian historian(key);
  for (std::size_t i = from; i < pool.log().size(); ++i) {
    machine.apply(pool.log()[i].view(), historian);
    historian.applied(machine);
  }
  return with_gaps(historian.history());
}

std::vector<Tenure> kept(const TestPool& pool, const std::string& key) {
  return with_gaps(kept_history(tell_history(pool.machine(), key)));
}

std::string shown(const std::vector<Tenure>& history) {
  std::string text;
  const auto add = [&](std::int64_t ms) { text += " " + std::to_string(ms); };
  for (const Tenure& tenure : history) {
    text += std::to_string(tenure.epoch) + " " + tenure.worker + " '" + std::string(tenure.reason) + "'";
    add(tenure.granted_ms);
    add(tenure.started_ms.value_or(-1));
    add(tenure.ended_ms.value_or(-1));
    add(tenure.gap_ms.value_or(-1));
    text += "\n";
  }
  return text;
}

// A resident that is handed over, crashes its process three times, and is put into quarantine.
TestPool eventful() {
  TestPool pool;
  v1::Record options;
  options.mutable_configure()->set_quarantine_after_plus_one(3);
  pool.append(options);
  std::uint64_t holder = pool.node("a");
  pool.jump(5);
  pool.resident("k");
  pool.running("other");
  pool.jump(5);
  pool.started("k");
  pool.jump(100);
  const std::uint64_t next = pool.node("b");
  pool.append(test::rec::drain("a"));
  pool.jump(3);
  pool.settle();
  pool.jump(7);
  pool.leave(holder);
  holder = next;
  for (const char* name : {"c", "d", "e"}) {
    pool.jump(50);
    const std::uint64_t another = pool.node(name);
    pool.jump(2);
    pool.crash(std::exchange(holder, another), {"k"});
    pool.jump(4);
    pool.settle();
  }
  return pool;
}

TEST(History, KeptAsItWasFollowed) {
  const TestPool pool = eventful();
  const std::vector<Tenure> history = kept(pool, "k");
  ASSERT_GE(history.size(), 3U);
  EXPECT_EQ(history.front().reason, "handoff");
  EXPECT_EQ(*history.front().started_ms - history.front().granted_ms, 5);
  EXPECT_EQ(*history.front().ended_ms - *history.front().started_ms, 103);
  EXPECT_EQ(history.back().reason, "quarantine");
  EXPECT_GT(*history[2].gap_ms, 0);
  EXPECT_EQ(shown(history), shown(followed(pool, "k")));
}

// With the follower's snapshot at any position.
TEST(History, SameFromEverySnapshot) {
  const TestPool pool = eventful();
  const std::string whole = shown(kept(pool, "k"));
  for (std::size_t from = 1; from < pool.log().size(); ++from) {
    EXPECT_EQ(shown(followed(pool, "k", from)), whole) << "from entry " << from;
  }
}

}  // namespace
}  // namespace tenure::cli
