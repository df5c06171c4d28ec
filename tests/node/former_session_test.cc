// A node that loses its lease begins another session. If the log then loses the end of the former one, that session is
// back, and its keys are stuck until its end is written again. The node knows that nothing of it runs.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "node/losing_log.h"
#include "node/manual_world.h"
#include "node/node.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;

TEST(FormerSession, IsEndedWhereItsEndWasLost) {
  ManualLoop loop;
  LosingLog log(loop);
  SeededEntropy entropy(1);
  IdleHost host;
  NodeEvents events;
  NodeOptions options;
  options.name = "n";
  options.lease = 10s;
  auto owned = std::make_unique<Node>(NodeWorld{log, loop, loop, loop, entropy, &host}, options, events);
  Node& node = *owned;
  NodeWorker worker;
  worker.id = "w";
  node.add_worker(worker);
  node.start();
  loop.advance(1s);
  ASSERT_TRUE(node.member());
  const std::uint64_t first = node.session();
  const Position kept = log.end();

  node.host_lost();
  loop.advance(1s);
  ASSERT_TRUE(node.member());
  const std::uint64_t second = node.session();
  ASSERT_EQ(node.machine().sessions().find(first), nullptr);

  log.lose_after(kept);
  loop.advance(1s);
  EXPECT_TRUE(node.member());
  EXPECT_NE(node.session(), second);
  EXPECT_EQ(node.machine().sessions().find(first), nullptr) << "its lease was waited for";
  EXPECT_EQ(node.machine().sessions().all.size(), 1U);
  const WorkerIx back = node.machine().workers().find("w");
  ASSERT_NE(back, kNone);
  EXPECT_EQ(node.machine().workers()[back].session, node.session());
  owned.reset();
  loop.settle();  // the heart ends on its loop
}

class Ends final : public Effects {
 public:
  void session_ended(const At& /*at*/, std::uint64_t session, SessionEnd why) override { ends[session] = why; }
  std::map<std::uint64_t, SessionEnd> ends;
};

// One of the jobs may have killed what they all ran in. The pool has a rule that finds such jobs, and it counts
// crashes.
TEST(FormerSession, EndsAsACrashWhereTheHostIsLost) {
  ManualLoop loop;
  LosingLog log(loop);
  SeededEntropy entropy(1);
  IdleHost host;
  NodeEvents events;
  NodeOptions options;
  options.name = "n";
  Ends ends;
  auto node = std::make_unique<Node>(NodeWorld{log, loop, loop, loop, entropy, &host}, options, events);
  node->listen(ends);
  NodeWorker worker;
  worker.id = "w";
  node->add_worker(worker);
  node->start();
  loop.advance(1s);
  ASSERT_TRUE(node->member());
  const std::uint64_t session = node->session();
  node->host_lost();
  loop.advance(1s);
  ASSERT_TRUE(ends.ends.contains(session));
  EXPECT_EQ(ends.ends[session], SessionEnd::crashed);
  node.reset();
  loop.settle();  // the heart ends on its loop
}

}  // namespace
}  // namespace tenure
