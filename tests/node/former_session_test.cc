// A node that loses its lease begins another session. If the log then loses the end of the former one, that session is
// back, and its keys are stuck until its end is written again. The node knows that nothing of it runs.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "node/manual_world.h"
#include "node/node.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;

// Keeps entries in memory, answers at once, and can lose its tail.
class LosingLog final : public Log {
 public:
  explicit LosingLog(const Loop& loop) : loop_(loop) {}

  Position end() const { return entries_.size(); }
  void lose_after(Position kept) {
    entries_.resize(kept);
    lost_ = true;
    if (waiting_) std::exchange(waiting_, nullptr)(fail(Errc::lost_history, "read", "the tail is gone"));
  }

  void append(Lane /*lane*/, Bytes data, AppendDone done) override {
    if (lost_) return done(fail(Errc::lost_history, "append", "the tail is gone"));
    entries_.push_back({end() + 1, to_ms(loop_.now().since_boot), std::move(data)});
    done(end());
    hand_over();
  }
  void read(Cursor after, ReadDone done) override {
    if (lost_) return done(fail(Errc::lost_history, "read", "the tail is gone"));
    after_ = after.position;
    waiting_ = std::move(done);
    hand_over();
  }
  void load_snapshot(IfGone /*if_gone*/, LoadDone done) override {
    lost_ = false;
    done(Snapshot{});
  }
  std::unique_ptr<SnapshotWriter> begin_snapshot(Cursor /*at*/) override { return nullptr; }
  void trim(Position /*before*/, std::function<void(Status)> /*done*/) override {}
  void remove(std::function<void(Status)> /*done*/) override {}
  void close() override {}

 private:
  void hand_over() {
    if (!waiting_ || after_ >= end()) return;
    std::exchange(waiting_,
                  nullptr)(std::vector<Entry>(entries_.begin() + static_cast<std::ptrdiff_t>(after_), entries_.end()));
  }

  const Loop& loop_;
  std::vector<Entry> entries_;
  Position after_ = 0;
  ReadDone waiting_;
  bool lost_ = false;
};

class IdleHost final : public Host {
 public:
  void start(HeldJob /*job*/) override {}
  void stop(const Hold& /*hold*/, StopReason /*reason*/, Instant /*deadline*/) override {}
  void message(const Hold& /*hold*/, std::uint64_t /*number*/, BytesView /*text*/) override {}
  void fence(std::uint64_t /*session*/) override {}
  void kill(std::uint64_t /*session*/) override {}
};

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
