// Broken, foreign or future entries are skipped and counted, and change only time and position.

#include <gtest/gtest.h>

#include "machine/pool.h"

namespace tenure::test {
namespace {

// The state without what every entry changes: position, time, and the chain of digests.
Bytes lasting_state(Machine& machine, bool with_senders = true) {
  Image image = image_of(machine);
  v1::FrameState& frame = *image.global.mutable_frame();
  frame.clear_position();
  frame.clear_digest();
  frame.clear_engine_ms();
  frame.clear_log_time_ms();
  if (!with_senders) {
    frame.clear_senders();
    frame.clear_sender_orders();
  }
  Bytes all = image.global.SerializeAsString();
  for (const auto& [key, state] : image.keys) all += state.SerializeAsString();
  for (const auto& [id, state] : image.jobs) all += state.SerializeAsString();
  return all;
}

TestPool& busy(TestPool& pool) {
  pool.node("a");
  pool.node("b", {.serves = {"s"}});
  pool.running("r");
  pool.resident("s");
  pool.task("t");
  pool.task("t");
  pool.task("later", {.delay_ms = 100'000});
  pool.task("f", {.answer_in_log = true});
  pool.failed("f");
  return pool;
}

// A run of entries may be decoded ahead. One that is broken is skipped alone, and those before it live on.
TEST(BrokenBytes, AreSkippedWithinARun) {
  Decoder decoder;
  const Bytes sound = batch_bytes(9, 1, {rec::shutdown()});
  const v1::Batch* first = decoder.decode(sound);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(decoder.decode_next("garbage"), nullptr);
  const v1::Batch* last = decoder.decode_next(batch_bytes(9, 2, {rec::shutdown(), rec::shutdown()}));
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(first->sequence(), 1U);
  EXPECT_EQ(first->records_size(), 1);
  EXPECT_EQ(last->sequence(), 2U);
  EXPECT_EQ(last->records_size(), 2);
}

TEST(BrokenBytes, AreSkippedAndCounted) {
  TestPool pool;
  busy(pool);
  const Bytes before = lasting_state(pool.machine());
  v1::Batch batch;
  ASSERT_TRUE(batch.ParseFromString(batch_bytes(9, 1, {rec::shutdown()})));
  std::vector<Bytes> entries{"", "garbage", Bytes("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11)};
  entries.push_back(batch_bytes(9, 1, {rec::shutdown()}).substr(0, 12));
  entries.push_back(batch_bytes(0, 1, {rec::shutdown()}));
  entries.push_back(batch_bytes(9, 0, {rec::shutdown()}));
  batch.set_format(2);
  entries.push_back(batch.SerializeAsString());
  batch.set_format(0);
  entries.push_back(batch.SerializeAsString());
  for (const Bytes& entry : entries) {
    pool.append_bytes(entry);
    EXPECT_TRUE(pool.seen().lines.empty());
    EXPECT_EQ(pool.machine().position(), pool.position());
  }
  EXPECT_EQ(pool.machine().stats().entries_skipped, entries.size());
  EXPECT_EQ(lasting_state(pool.machine()), before);
}

TEST(BrokenBytes, StillLetTimePass) {
  TestPool pool;
  pool.node("a");
  pool.task("k", {.delay_ms = 1'000});
  pool.jump(1'000);
  pool.append_bytes("garbage");
  EXPECT_EQ(pool.seen().granted_keys(), std::vector<Bytes>{"k"});
}

TEST(BrokenBytes, ARecordOfAnUnknownKindIsSkippedAndItsNeighboursCount) {
  TestPool pool;
  v1::Batch batch;
  batch.set_format(kBatchFormat);
  batch.set_sender(5);
  batch.set_sequence(1);
  *batch.add_records() = rec::join(1);
  // Field 999, a message with nothing in it: a kind from the future.
  ASSERT_TRUE(batch.add_records()->ParseFromString(Bytes("\xba\x3e\x00", 3)));
  *batch.add_records() = rec::join(2);
  pool.append_bytes(batch.SerializeAsString());
  EXPECT_TRUE(pool.alive(1));
  EXPECT_TRUE(pool.alive(2));
  EXPECT_EQ(pool.machine().stats().records_unknown, 1U);
}

TEST(BrokenBytes, BytesThatAreNotTextAreKeysLikeAnyOther) {
  TestPool pool;
  pool.node("a");
  const Bytes key("\x00\xff\xfe\n", 4);
  pool.resident(key, {.payload = Bytes("\x00\x80", 2)});
  EXPECT_EQ(pool.holder(key), "a");
  EXPECT_EQ(pool.info(key)->payload, BytesView("\x00\x80", 2));
}

// Entries that say nothing leave the state as it is, however many there are.
TEST(BrokenBytes, NothingSaidChangesNothing) {
  TestPool pool;
  busy(pool);
  const Bytes before = lasting_state(pool.machine(), false);
  for (int i = 0; i < 50; ++i) {
    pool.append(TestPool::Records{});
    pool.append(rec::tick());
    EXPECT_TRUE(pool.seen().lines.empty());
  }
  EXPECT_EQ(lasting_state(pool.machine(), false), before);
}

TEST(BrokenBytes, WhatIsRefusedChangesNothing) {
  TestPool pool;
  busy(pool);
  const Bytes before = lasting_state(pool.machine(), false);
  pool.append({rec::join(1),
               rec::beat(99),
               rec::expire(1, 1),
               rec::end(99),
               rec::add_worker(99, "x"),
               rec::add_worker(1, "a"),
               rec::remove_worker(1, "b"),
               rec::drain("x"),
               rec::serve(2, "a", {"k"}),
               rec::choose("r", "a", 1, 1),
               rec::dispatch(1, v1::RESIDENT, "r"),
               rec::notify(2, "t", "m"),
               rec::stop(3, "nothing"),
               rec::retry_dead(4, 1),
               rec::drop_dead(5, 1),
               rec::started("r", 1),
               rec::released("r", 1),
               rec::done("r", 1),
               rec::failed("r", 1),
               rec::checkpoint("r", 1, "c"),
               rec::notified("r", 1, 1),
               rec::answer(6, v1::Answer::ACCEPTED),
               rec::switch_version(1)});
  EXPECT_EQ(pool.refused(), 23U);
  EXPECT_EQ(lasting_state(pool.machine(), false), before);
}

}  // namespace
}  // namespace tenure::test
