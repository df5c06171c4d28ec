// Requests are sent in order, and wait while there is no room. Each counts as unanswered until it is answered or given
// up.

#include "pool/request_sender.h"

#include <gtest/gtest.h>

#include "node/manual_world.h"

namespace tenure {
namespace {

class RequestSenderTest : public testing::Test {
 protected:
  RequestSenderTest() {
    sender_.set_way({.has_room = [this] { return room_; },
                     .send = [this](SealedRequests& requests) -> Status {
                       if (broken_) return fail(Errc::closed, "append", "the node has stopped");
                       blocks_.push_back(requests.asked.size());
                       for (const SealedRequests::Asked& asked : requests.asked) numbers_.push_back(asked.number);
                       return {};
                     }});
  }
  ~RequestSenderTest() override { callbacks_->close(); }

  TicketPtr submit() {
    Result<TicketPtr> ticket = sender_.submit({.job = JobKind::task, .key = "k", .text = payload_});
    EXPECT_TRUE(ticket);
    return *std::move(ticket);
  }

  const std::shared_ptr<Callbacks> callbacks_ = std::make_shared<Callbacks>();
  ManualLoop loop_;
  RequestSender sender_{loop_, callbacks_, kFirst, false};
  bool room_ = true;
  bool broken_ = false;
  std::string payload_;
  std::vector<std::size_t> blocks_;
  std::vector<std::uint64_t> numbers_;

  static constexpr std::uint64_t kFirst = 7;
};

TEST_F(RequestSenderTest, SendsTogetherWhatComesTogether) {
  for (int i = 0; i < 3; ++i) submit();
  EXPECT_TRUE(blocks_.empty());
  loop_.settle();
  EXPECT_EQ(blocks_, (std::vector<std::size_t>{3}));
  EXPECT_EQ(numbers_, (std::vector<std::uint64_t>{kFirst, kFirst + 1, kFirst + 2}));
  submit();
  loop_.settle();
  EXPECT_EQ(blocks_, (std::vector<std::size_t>{3, 1}));
}

// Members of version 1 would skip it without an answer.
TEST_F(RequestSenderTest, SaysNothingOfSourcesToAPoolThatKnowsNone) {
  sender_.note_version(1);
  const Result<TicketPtr> ticket = sender_.submit({.kind = Request::Kind::forget_source, .key = "s"});
  ASSERT_FALSE(ticket);
  EXPECT_EQ(ticket.error().code, Errc::version);
  sender_.note_version(2);
  EXPECT_TRUE(sender_.submit({.kind = Request::Kind::forget_source, .key = "s"}));
}

// Nothing is lost, reordered, or sent before the way says that it has room again.
TEST_F(RequestSenderTest, WaitsForRoom) {
  room_ = false;
  submit();
  submit();
  loop_.advance(std::chrono::seconds(1));
  EXPECT_TRUE(blocks_.empty());
  room_ = true;
  loop_.advance(std::chrono::seconds(1));
  EXPECT_TRUE(blocks_.empty()) << "it does not ask again and again";
  sender_.has_room();
  EXPECT_EQ(numbers_, (std::vector<std::uint64_t>{kFirst, kFirst + 1}));
  submit();
  loop_.settle();
  EXPECT_EQ(numbers_.size(), 3U);
}

TEST_F(RequestSenderTest, HasABound) {
  room_ = false;
  payload_.assign(1U << 19, 'x');
  for (std::size_t i = 0; i * payload_.size() <= kSubmittedBytesMax; ++i) {
    if (!sender_.submit({.job = JobKind::task, .key = "k", .text = payload_})) break;
  }
  const Result<TicketPtr> refused = sender_.submit({.job = JobKind::task, .key = "k", .text = payload_});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::busy);
  room_ = true;
  sender_.has_room();
  loop_.settle();
  submit();
}

TEST_F(RequestSenderTest, CountsWhatIsUnanswered) {
  for (int i = 0; i < 3; ++i) submit();
  EXPECT_EQ(sender_.unanswered(), 3U);
  loop_.settle();
  EXPECT_FALSE(sender_.note_answered(2));
  EXPECT_EQ(sender_.unanswered(), 1U);
  EXPECT_TRUE(sender_.note_answered(3));
  broken_ = true;
  const TicketPtr lost = submit();
  loop_.settle();
  EXPECT_EQ(sender_.unanswered(), 0U);
  EXPECT_EQ(lost->outcome(Stage::done).error().code, Errc::closed);
  EXPECT_TRUE(sender_.note_answered(3)) << "what was never sent is counted here";
}

TEST_F(RequestSenderTest, TellsWhatWaitsWhyItIsClosed) {
  const TicketPtr waiting = submit();
  sender_.close({Errc::shutting_down, "wait", "the pool was shut down"});
  EXPECT_EQ(waiting->outcome(Stage::accepted).error().code, Errc::shutting_down);
  EXPECT_EQ(sender_.unanswered(), 0U);
  loop_.settle();
  EXPECT_TRUE(blocks_.empty());
  const Result<TicketPtr> late = sender_.submit({.job = JobKind::task, .key = "k"});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::shutting_down);
}

}  // namespace
}  // namespace tenure
