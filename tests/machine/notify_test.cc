// Messages for a key: in order, kept until its holder has handled them, and never dropped silently.

#include <gtest/gtest.h>

#include "machine/pool.h"

namespace tenure::test {
namespace {

std::vector<Bytes> texts(const Recorder& recorder) {
  std::vector<Bytes> all;
  all.reserve(recorder.messages.size());
  for (const Recorder::Delivered& message : recorder.messages) all.push_back(message.text);
  return all;
}

TEST(Notify, ReachesTheHolderInOrder) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  pool.notify("k", "one");
  EXPECT_EQ(pool.seen().messages.at(0).tenure.worker, "a");
  pool.notify("k", "two");
  EXPECT_EQ(texts(pool.history()), (std::vector<Bytes>{"one", "two"}));
  EXPECT_EQ(pool.history().messages[1].number, pool.history().messages[0].number + 1);
}

TEST(Notify, WithoutAResidentItSaysNoSuchKey) {
  TestPool pool;
  pool.node("a");
  EXPECT_EQ(pool.refusal(pool.notify("k", "m")), Errc::no_such_key);
  pool.task("t");
  EXPECT_EQ(pool.refusal(pool.notify("t", "m")), Errc::no_such_key);
}

TEST(Notify, WaitsForTheStart) {
  TestPool pool;
  pool.resident("k");
  pool.notify("k", "one");
  pool.node("a");
  pool.notify("k", "two");
  EXPECT_TRUE(pool.history().messages.empty());
  pool.started("k");
  EXPECT_EQ(texts(pool.seen()), (std::vector<Bytes>{"one", "two"}));
}

TEST(Notify, WhatWasNotHandledGoesToTheNextHolder) {
  TestPool pool;
  const std::uint64_t session = pool.node("a");
  pool.running("k");
  for (const char* text : {"one", "two", "three"}) pool.notify("k", text);
  pool.notified("k", "one");
  pool.crash(session);
  pool.notify("k", "four");
  pool.node("b");
  pool.started("k");
  EXPECT_EQ(texts(pool.seen()), (std::vector<Bytes>{"two", "three", "four"}));
  pool.notified("k", "four");
  int left = 0;
  pool.machine().each_message("k", [&](std::uint64_t, BytesView) { ++left; });
  EXPECT_EQ(left, 0);
}

TEST(Notify, WhatComesDuringAHandoffGoesToTheNextHolder) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  pool.append(rec::drain("a"));
  const std::uint64_t ticket = pool.notify("k", "on the way");
  EXPECT_EQ(pool.outcome(ticket), TicketState::accepted);
  EXPECT_TRUE(pool.seen().messages.empty());
  pool.released("k");
  pool.node("b");
  pool.started("k");
  EXPECT_EQ(texts(pool.seen()), std::vector<Bytes>{"on the way"});
}

// A job that is being stopped gets no more messages, so they are refused rather than taken and dropped.
TEST(Notify, AJobThatIsBeingStoppedTakesNone) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  pool.stop("k");
  EXPECT_EQ(pool.refusal(pool.notify("k", "m")), Errc::no_such_key);
  pool.resident("l");
  pool.stop("l");
  EXPECT_EQ(pool.refusal(pool.notify("l", "m")), Errc::no_such_key);
}

// The sender's ticket ends when the message was handled, or failed, or can no longer be handled; with a restart from a
// snapshot in between.
TEST(Notify, ItsSenderHearsWhatBecameOfIt) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  const std::uint64_t good = pool.notify("k", "good");
  const std::uint64_t bad = pool.notify("k", "bad");
  const std::uint64_t late = pool.notify("k", "late");
  v1::Record refusal = rec::notified("k", pool.epoch("k"), pool.message_number("k", "bad"));
  refusal.mutable_notified()->set_failed(true);
  refusal.mutable_notified()->set_error("takes no messages");
  ASSERT_TRUE(pool.machine().restore(save(pool.machine())));
  pool.append(refusal);
  EXPECT_EQ(pool.outcome(good), TicketState::done) << "those before it were handled";
  EXPECT_EQ(pool.outcome(bad), TicketState::failed);
  EXPECT_EQ(pool.seen().settlements.back().text, "takes no messages");
  EXPECT_EQ(pool.outcome(late), TicketState::accepted);
  pool.stop("k");
  pool.released("k");
  EXPECT_EQ(pool.outcome(late), TicketState::failed);
}

TEST(Notify, AStaleHolderHandlesNothing) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  const std::uint64_t old_epoch = pool.epoch("k");
  pool.notify("k", "m");
  const std::uint64_t number = pool.message_number("k", "m");
  pool.released("k");
  pool.append(rec::notified("k", old_epoch, number));
  pool.started("k");
  EXPECT_EQ(texts(pool.seen()), std::vector<Bytes>{"m"});
}

TEST(Notify, MessagesAreBoundedByNumber) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  pool.notify("k", "first");
  for (std::size_t i = 1; i < kMessagesMax; ++i) pool.notify("k", "m");
  EXPECT_EQ(pool.refusal(pool.notify("k", "m")), Errc::busy);
  pool.notified("k", "first");
  EXPECT_EQ(pool.outcome(pool.notify("k", "m")), TicketState::accepted);
}

TEST(Notify, MessagesAreBoundedByBytes) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  EXPECT_EQ(pool.refusal(pool.notify("k", Bytes(kMessageBytesMax + 1, 'm'))), Errc::invalid);
  for (std::size_t i = 0; i < kMessagesBytesMax / kMessageBytesMax; ++i) {
    EXPECT_EQ(pool.outcome(pool.notify("k", Bytes(kMessageBytesMax, 'm'))), TicketState::accepted);
  }
  EXPECT_EQ(pool.refusal(pool.notify("k", "m")), Errc::busy);
}

// The machine is that of before and after the loss at once: two that have applied the same up to where the tail was
// cut.
TEST(Notify, AMessageOfALostTailIsNotTakenForAnother) {
  TestPool lost;
  TestPool kept;
  for (TestPool* pool : {&lost, &kept}) {
    pool->node("a");
    pool->running("k");
  }
  lost.jump(10);
  lost.notify("k", "never happened");
  const std::uint64_t handled = lost.seen().messages.at(0).number;
  kept.jump(20);
  kept.notify("k", "stays");
  kept.append(rec::notified("k", kept.epoch("k"), handled));
  std::vector<Bytes> left;
  kept.machine().each_message("k", [&](std::uint64_t, BytesView text) { left.emplace_back(text); });
  EXPECT_EQ(left, std::vector<Bytes>{"stays"});
}

}  // namespace
}  // namespace tenure::test
