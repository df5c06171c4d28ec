#include "node/keys/runtime.h"

#include <gtest/gtest.h>

#include "node/manual_world.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

// Takes every job, and leaves it to the test to report what becomes of it.
class SilentHost final : public Host {
 public:
  void start(HeldJob /*job*/) override {}
  void stop(const Hold& /*hold*/, StopReason /*reason*/, Instant /*deadline*/) override {}
  void message(const Hold& /*hold*/, std::uint64_t /*number*/, BytesView /*text*/) override {}
  void fence(std::uint64_t /*session*/) override {}
  void kill(std::uint64_t /*session*/) override {}
};

class RuntimeTest : public testing::Test, private AppenderEvents {
 protected:
  RuntimeTest() {
    loop_.guests = true;
    runtime_.begin(kSession, [this] { return (loop_.now() + std::chrono::hours(1)).since_boot.count(); });
    for (std::uint64_t epoch = 1; epoch <= 4; ++epoch) {
      Grant grant{};
      grant.tenure.key = "key";
      grant.tenure.worker = "worker";
      grant.tenure.session = kSession;
      grant.tenure.epoch = epoch;
      grant.kind = JobKind::task;
      runtime_.granted({}, grant);
    }
  }
  static Hold hold(std::uint64_t epoch) { return {"key", epoch}; }
  // How many records each batch has, when one after the other is sent.
  std::vector<int> sizes_of_batches() {
    std::vector<int> sizes;
    for (; !log_.appends.empty(); log_.answer(Position{1}), loop_.settle()) {
      v1::Batch batch;
      EXPECT_TRUE(batch.ParseFromString(log_.appends[0].data));
      sizes.push_back(batch.records_size());
    }
    return sizes;
  }

  // The records about a tenure, batch by batch: the checkpoints' bytes, and `.` for everything else.
  std::vector<std::string> said() {
    std::vector<std::string> all;
    for (; !log_.appends.empty(); log_.answer(Position{++position_}), loop_.settle()) {
      v1::Batch batch;
      EXPECT_TRUE(batch.ParseFromString(log_.appends[0].data));
      all.emplace_back();
      for (const v1::Record& record : batch.records()) {
        all.back() += record.has_checkpoint() ? record.checkpoint().data() : ".";
      }
    }
    return all;
  }

  static constexpr std::uint64_t kSession = 7;
  Position position_ = 0;
  ManualLoop loop_;
  ManualLog log_;
  SeededEntropy entropy_{1};
  Appender appender_{log_, loop_, loop_, entropy_, *this};
  SilentHost host_;
  Runtime runtime_{loop_, host_, appender_, [] { return Nanos(0); }, 64};

 private:
  void append_gave_up() override {}
  void append_refused(const Error& /*error*/) override {}
};

// An idle loop handles a report at once; later reports make up the next batch.
TEST_F(RuntimeTest, TellsOneReportAfterTheOther) {
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) runtime_.finished(hold(epoch), "");
  EXPECT_EQ(sizes_of_batches(), (std::vector<int>{1, 2}));
  EXPECT_EQ(runtime_.running(), 1U);
}

TEST_F(RuntimeTest, TellsTogetherWhatIsReportedTogether) {
  runtime_.together([&] {
    runtime_.finished(hold(1), "");
    runtime_.together([&] { runtime_.failed(hold(2), HoldReports::Next::retry, "", {}); });
    EXPECT_EQ(runtime_.running(), 4U);
    runtime_.released(hold(3));
  });
  EXPECT_EQ(runtime_.running(), 1U);
  EXPECT_EQ(sizes_of_batches(), (std::vector<int>{3}));
  runtime_.together([] {});
  runtime_.finished(hold(4), "");
  EXPECT_EQ(sizes_of_batches(), (std::vector<int>{1}));
}

// However many there are while the log is busy or away, the newest of each tenure is kept, and no other.
TEST_F(RuntimeTest, OfManyCheckpointsTheLastCounts) {
  for (const char* const data : {"a", "b", "c", "d"}) {
    runtime_.checkpoint(hold(1), data);
    runtime_.checkpoint(hold(2), std::string("2") + data);
    loop_.settle();
  }
  EXPECT_EQ(said(), (std::vector<std::string>{"a2a", "d2d"}));
  runtime_.checkpoint(hold(1), "e");
  loop_.settle();
  EXPECT_EQ(said(), (std::vector<std::string>{"e"}));
}

// Later records come after the checkpoint, and the tenure's end writes it first.
TEST_F(RuntimeTest, ACheckpointStaysBeforeWhatIsSaidAfterIt) {
  for (const char* const data : {"a", "b", "c"}) {
    runtime_.checkpoint(hold(1), data);
    loop_.settle();
  }
  runtime_.handled(hold(1), 1);
  loop_.settle();
  for (const char* const data : {"d", "e"}) {
    runtime_.checkpoint(hold(1), data);
    loop_.settle();
  }
  runtime_.failed(hold(1), HoldReports::Next::retry, "", {});
  EXPECT_EQ(said(), (std::vector<std::string>{"a", "c.e."}));
}

TEST_F(RuntimeTest, CheckpointsOfATenureThatIsOverAreDropped) {
  for (const char* const data : {"a", "b"}) {
    runtime_.checkpoint(hold(1), data);
    loop_.settle();
  }
  runtime_.fence([] {});
  EXPECT_EQ(said(), (std::vector<std::string>{"a"}));
}

}  // namespace
}  // namespace tenure
