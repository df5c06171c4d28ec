// A listener of a node gets all effects of the machine, in order, and before the node acts on them.

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "machine/effects_tee.h"
#include "node/batch_head.h"
#include "node/manual_world.h"
#include "node/node.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;

// Notes the name of each effect that it hears.
class EffectsNotes final : public PoolWatcher {
 public:
  void joined(const At&, std::uint64_t) override { heard.insert("joined"); }
  void beat_seen(const At&, const SeenBeat&) override { heard.insert("beat_seen"); }
  void session_ended(const At&, std::uint64_t, SessionEnd) override { heard.insert("session_ended"); }
  void settled(const At&, const Settlement&) override {
    heard.insert("settled");
    if (answered) answered_before = answered();
  }
  void answer_due(const At&, const Settlement&) override { heard.insert("answer_due"); }
  void worker_added(const At&, std::uint64_t, BytesView) override { heard.insert("worker_added"); }
  void worker_removed(const At&, std::uint64_t, BytesView) override { heard.insert("worker_removed"); }
  void granted(const At&, const Grant&) override { heard.insert("granted"); }
  void ended(const At&, const TenureRef&, TenureEnd) override { heard.insert("ended"); }
  void choice_due(const At&, BytesView) override { heard.insert("choice_due"); }
  void choices_due(const At&) override { heard.insert("choices_due"); }
  void saved(const At&, std::uint64_t) override { heard.insert("saved"); }
  void asked(const At&, const v1::Ask&) override { heard.insert("asked"); }
  void shutdown_began(const At&) override { heard.insert("shutdown_began"); }
  void shutdown_drained(const At&) override { heard.insert("shutdown_drained"); }
  void applied(const Machine& machine) override { read_at = machine.position(); }

  std::set<std::string> heard;
  std::function<std::uint64_t()> answered;
  std::uint64_t answered_before = 1;
  Position read_at = 0;
};

class ListeningTest : public testing::Test {
 protected:
  ListeningTest() {
    NodeOptions options;
    options.name = "n";
    options.replica.snapshots = false;
    node_ = std::make_unique<Node>(
        NodeWorld{
            .log = log_, .loop = loop_, .heart_loop = loop_, .clock = loop_, .entropy = entropy_, .host = nullptr},
        options, events_);
    node_->listen(first_);
    node_->listen(static_cast<Effects&>(second_));
    node_->start();
    log_.answer_load(Snapshot{});
    loop_.settle();
  }
  ~ListeningTest() override {
    node_.reset();
    loop_.settle();  // the heart ends on its loop
  }

  void apply(const v1::Record& record) {
    v1::Batch batch = empty_batch(7, ++position_, 0);
    *batch.add_records() = record;
    log_.answer_read(std::vector{Entry{position_, static_cast<std::int64_t>(position_), batch.SerializeAsString()}});
    loop_.settle();
  }
  void join(std::uint64_t session) {
    v1::Record record;
    v1::Join& join = *record.mutable_join();
    join.set_session(session);
    join.set_lease_ms(1000);
    join.set_speaks(kMachineVersion);
    join.set_chooses(true);
    PoolConfig config;
    config.assignment = Assignment::chosen;
    encode_config(config, *join.mutable_configure());
    apply(record);
  }

  ManualLoop loop_;
  ManualLog log_;
  SeededEntropy entropy_{1};
  NodeEvents events_;
  EffectsNotes first_;
  EffectsNotes second_;
  std::unique_ptr<Node> node_;
  Position position_ = 0;
};

TEST_F(ListeningTest, HearsEverything) {
  join(1);
  v1::Record record;
  record.mutable_add_worker()->set_session(1);
  record.mutable_add_worker()->set_worker("w");
  apply(record);
  record.Clear();
  record.mutable_dispatch()->set_ticket(11);
  record.mutable_dispatch()->set_answer_in_log(true);
  record.mutable_dispatch()->set_key("k");
  record.mutable_dispatch()->set_kind(v1::TASK);
  apply(record);
  record.Clear();
  record.mutable_choose()->set_key("k");
  record.mutable_choose()->set_worker("w");
  record.mutable_choose()->set_session(1);
  record.mutable_choose()->set_round(node_->machine().choice_round());
  apply(record);
  record.Clear();
  record.mutable_ask()->set_question(5);
  record.mutable_ask()->mutable_workers();
  apply(record);
  record.Clear();
  record.mutable_saved()->set_position(2);
  apply(record);
  record.Clear();
  record.mutable_beat()->set_session(1);
  record.mutable_beat()->set_number(1);
  apply(record);
  record.Clear();
  record.mutable_shutdown();
  apply(record);
  record.Clear();
  record.mutable_end()->set_session(1);
  record.mutable_end()->set_reason(v1::End::CRASHED);
  apply(record);
  EXPECT_EQ(first_.heard, (std::set<std::string>{"joined", "beat_seen", "session_ended", "settled", "answer_due",
                                                 "worker_added", "worker_removed", "granted", "ended", "choice_due",
                                                 "choices_due", "saved", "asked", "shutdown_began"}));
  EXPECT_EQ(second_.heard, first_.heard);
  EXPECT_EQ(first_.read_at, position_);
  EXPECT_EQ(second_.read_at, 0U) << "it listens to effects alone";
}

// The ticket has not been told when its listener hears of it.
TEST_F(ListeningTest, HearsBeforeTheNodeActs) {
  first_.answered = [this] { return node_->answered(); };
  const Result<std::uint64_t> ticket = node_->ask({.job = JobKind::task, .key = "k"});
  ASSERT_TRUE(ticket);
  v1::Record record;
  record.mutable_dispatch()->set_ticket(*ticket);
  record.mutable_dispatch()->set_key("k");
  record.mutable_dispatch()->set_kind(v1::TASK);
  apply(record);
  EXPECT_EQ(first_.answered_before, 0U);
  EXPECT_EQ(node_->answered(), 1U);
}

}  // namespace
}  // namespace tenure
