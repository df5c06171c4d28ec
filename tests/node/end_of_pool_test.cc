// The end of a pool, as a member sees it that is late: another process has removed the log before this one has read
// that it left. It must not make the log again.

#include <gtest/gtest.h>

#include <memory>

#include "node/losing_log.h"
#include "node/manual_world.h"
#include "node/node.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;

class EndSeen final : public NodeEvents {
 public:
  void pool_gone() override { ++gone; }
  void closed() override { ++over; }
  int gone = 0;
  int over = 0;
};

bool ends_a_session(BytesView entry) {
  v1::Batch batch;
  if (!batch.ParseFromArray(entry.data(), static_cast<int>(entry.size()))) return false;
  for (const v1::Record& record : batch.records()) {
    if (record.has_end()) return true;
  }
  return false;
}

class EndOfPool : public testing::Test {
 protected:
  EndOfPool() {
    NodeOptions options;
    options.name = "n";
    options.lease = 10s;
    node_ = std::make_unique<Node>(NodeWorld{log_, loop_, loop_, loop_, entropy_, &host_}, options, events_);
    NodeWorker worker;
    worker.id = "w";
    node_->add_worker(worker);
    node_->start();
    loop_.advance(1s);
    log_.remove_after(ends_a_session);
  }
  ~EndOfPool() override {
    node_.reset();
    loop_.settle();  // the heart ends on its loop
  }

  ManualLoop loop_;
  LosingLog log_{loop_};
  SeededEntropy entropy_{1};
  IdleHost host_;
  EndSeen events_;
  std::unique_ptr<Node> node_;
};

TEST_F(EndOfPool, AMemberThatLeavesMakesNoLogAgain) {
  ASSERT_TRUE(node_->member());
  node_->shut_down();
  loop_.advance(5s);
  EXPECT_TRUE(log_.removed());
  EXPECT_EQ(log_.made_again(), 0);
  EXPECT_EQ(events_.gone, 1);
  EXPECT_EQ(events_.over, 1);
}

// The same loss without a shutdown: the members put the pool back.
TEST_F(EndOfPool, AMemberOfAPoolThatGoesOnMakesItAgain) {
  ASSERT_TRUE(node_->member());
  node_->host_lost();  // ends its session, and joins again
  loop_.advance(5s);
  EXPECT_EQ(log_.made_again(), 1);
  EXPECT_EQ(events_.gone, 0);
  EXPECT_TRUE(node_->member());
}

}  // namespace
}  // namespace tenure
