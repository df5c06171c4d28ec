// A log that lost everything is put back from what a member remembers: all jobs as they were, without holders, once,
// and only where nobody has begun a new pool.

#include <map>

#include "machine/restoring.h"

namespace tenure::test {
namespace {

int messages_of(const TestPool& pool, BytesView key) {
  int count = 0;
  pool.machine().each_message(key, [&](std::uint64_t, BytesView) { ++count; });
  return count;
}

class Restore : public testing::Test {
 protected:
  static constexpr std::uint64_t kSurvivor = 500;

  void begin() { fresh_.append({survivor(kSurvivor, old_.machine()), rec::add_worker(kSurvivor, "w")}); }
  void put_back(std::size_t bytes = kWhole) {
    for (const v1::Record& part : parts_of(old_.machine(), kSurvivor, bytes)) fresh_.append(part);
  }
  RestorationState::Origin origin() const { return fresh_.machine().restoration().origin; }

  TestPool old_;
  TestPool fresh_{1, TestPool::kSender + 1};
};

TEST_F(Restore, BringsEveryKindOfJobBack) {
  old_.node("a");
  old_.running("resident");
  old_.checkpoint("resident", "half way");
  old_.notify("resident", "hello");
  const std::uint64_t first = old_.task("line");
  const std::uint64_t second = old_.task("line");
  const std::uint64_t later = old_.task("later", {.delay_ms = 60'000});
  old_.task("bad");
  old_.failed("bad", v1::Failed::BURY);
  old_.running("poison");
  old_.notify("poison", "hello");
  old_.failed("poison", v1::Failed::BURY);
  old_.task("again");
  old_.failed("again");
  const std::uint64_t highest = old_.machine().epoch_last();

  begin();
  put_back(64);  // in many parts

  EXPECT_EQ(origin(), RestorationState::Origin::restored);
  EXPECT_EQ(fresh_.state("resident"), JobState::starting);
  EXPECT_EQ(fresh_.info("resident")->checkpoint, "half way");
  EXPECT_NE(fresh_.message_number("resident", "hello"), 0U);
  EXPECT_GT(fresh_.epoch("resident"), highest);
  EXPECT_EQ(fresh_.info("line")->ticket, first);
  EXPECT_EQ(fresh_.state("later"), JobState::idle);
  EXPECT_EQ(fresh_.state("poison"), JobState::dead);
  EXPECT_EQ(messages_of(old_, "poison"), 1);
  EXPECT_EQ(messages_of(fresh_, "poison"), 1);
  EXPECT_EQ(fresh_.state("again"), JobState::waiting);
  EXPECT_EQ(fresh_.machine().dead().size(), 2U);
  expect_sound(fresh_);

  fresh_.done("line");
  EXPECT_EQ(fresh_.info("line")->ticket, second);
  fresh_.pass(60'000);
  EXPECT_EQ(fresh_.info("later")->ticket, later);
  expect_sound(fresh_);
}

// As one whose task came before it, or was emitted for its key.
TEST_F(Restore, BringsADeadTaskBackWhoseKeyHasAResident) {
  old_.node("a");
  old_.task("k");
  old_.failed("k", v1::Failed::BURY);
  old_.running("k");
  begin();
  put_back();
  EXPECT_EQ(fresh_.state("k"), JobState::starting);
  ASSERT_EQ(fresh_.machine().dead().size(), 1U);
  const DeadLetter& letter = fresh_.machine().dead().begin()->second;
  EXPECT_EQ(letter.kind, JobKind::task);
  expect_sound(fresh_);
}

TEST_F(Restore, BringsTheOptionsBack) {
  v1::Record join = rec::join(1);
  join.mutable_join()->mutable_configure()->set_max_attempts(7);
  old_.append(join);
  old_.task("k");
  begin();
  put_back();
  EXPECT_EQ(fresh_.machine().config().max_attempts, 7U);
}

// Who puts it back second changes nothing, not even for a task that was done in between.
TEST_F(Restore, HappensOnce) {
  old_.node("a");
  old_.task("k");
  begin();
  fresh_.append(survivor(501, old_.machine()));
  put_back();
  fresh_.done("k");
  for (const v1::Record& part : parts_of(old_.machine(), 501)) fresh_.append(part);
  EXPECT_EQ(fresh_.machine().keys(), 0U);
}

TEST_F(Restore, LeavesANewPoolAsItIs) {
  old_.node("a");
  old_.task("k");
  fresh_.node("newcomer");
  begin();
  put_back();
  EXPECT_EQ(origin(), RestorationState::Origin::begun);
  EXPECT_EQ(fresh_.machine().keys(), 0U);
}

// A member's join was on its way when the log was lost, and its sender sends it again into the new one.
TEST_F(Restore, TakesNoStrayJoinForANewPool) {
  old_.node("a");
  old_.task("k");
  v1::Record stray = rec::join(77);
  stray.mutable_join()->set_log(old_.machine().origin());
  fresh_.append(stray);
  begin();
  put_back();
  EXPECT_EQ(origin(), RestorationState::Origin::restored);
  EXPECT_EQ(fresh_.state("k"), JobState::running);
}

TEST_F(Restore, EndsWithTheShutdownOfTheNewLog) {
  old_.node("a");
  old_.task("k");
  begin();
  fresh_.append(rec::shutdown());
  put_back();
  EXPECT_EQ(fresh_.machine().keys(), 0U);
}

// Tasks that were dispatched meanwhile stay, and so does the resident that took its key anew.
TEST_F(Restore, KeepsWhatWasDispatchedMeanwhile) {
  old_.node("a");
  old_.running("taken");
  const std::uint64_t remembered = old_.task("shared");
  fresh_.append(rec::dispatch(9'998, v1::RESIDENT, "taken", {.payload = "new"}));
  const std::uint64_t newer = 9'999;
  fresh_.append(rec::dispatch(newer, v1::TASK, "shared"));
  begin();
  put_back();
  EXPECT_EQ(fresh_.info("taken")->payload, "new");
  EXPECT_EQ(fresh_.info("shared")->ticket, newer);
  fresh_.done("shared");
  EXPECT_EQ(fresh_.info("shared")->ticket, remembered);
  EXPECT_EQ(fresh_.machine().restoration().left_out, 1U);
  expect_sound(fresh_);
}

// The answer to a batch was lost with the log. Its sender sends it again, before the pool is back or after.
TEST_F(Restore, TakesNoBatchTwice) {
  old_.node("a");
  old_.append_as(7, 1, {rec::dispatch(4'711, v1::TASK, "before")});
  old_.append_as(8, 1, {rec::dispatch(4'712, v1::TASK, "after")});
  begin();
  fresh_.append_as(7, 1, {rec::dispatch(4'711, v1::TASK, "before")});
  fresh_.done("before");
  put_back();
  EXPECT_EQ(fresh_.info("before"), std::nullopt);
  fresh_.append_as(8, 1, {rec::dispatch(4'712, v1::TASK, "after")});
  fresh_.done("after");
  EXPECT_EQ(fresh_.info("after"), std::nullopt);
}

// A member dies over it, and another one that knows less goes on where it stopped.
TEST_F(Restore, GoesOnWhenItsMemberDies) {
  old_.node("a");
  for (int i = 0; i < 20; ++i) old_.task("k" + std::to_string(i));
  begin();
  fresh_.append(survivor(501, old_.machine()));
  const TestPool::Records parts = parts_of(old_.machine(), kSurvivor, 64);
  for (std::size_t i = 0; i < parts.size() / 2; ++i) fresh_.append(parts[i]);
  fresh_.crash(kSurvivor);
  fresh_.append(parts[parts.size() / 2]);  // it was still under way
  ASSERT_TRUE(fresh_.machine().restoration().under_way);

  for (const v1::Record& part : parts_of(old_.machine(), 501, 64, &fresh_.machine())) fresh_.append(part);
  EXPECT_EQ(fresh_.machine().keys(), 20U);
  EXPECT_EQ(fresh_.machine().restoration().jobs, 20U);
  expect_sound(fresh_);
}

// The tasks of one key come in several parts: none is granted before all are there, and none twice.
TEST_F(Restore, KeepsALongLineTogether) {
  old_.node("a");
  std::vector<std::uint64_t> tickets;
  for (int i = 0; i < 10; ++i) tickets.push_back(old_.task("line", {.payload = Bytes(100, 'x')}));
  begin();
  fresh_.append(survivor(501, old_.machine()));
  const TestPool::Records parts = parts_of(old_.machine(), kSurvivor, 300);
  ASSERT_GT(parts.size(), 2U);
  fresh_.append(parts[0]);
  EXPECT_EQ(fresh_.state("line"), JobState::waiting);
  fresh_.crash(kSurvivor);
  fresh_.append(rec::add_worker(501, "b"));
  for (const v1::Record& part : parts_of(old_.machine(), 501, kWhole, &fresh_.machine())) fresh_.append(part);
  for (const std::uint64_t ticket : tickets) {
    ASSERT_TRUE(fresh_.info("line"));
    EXPECT_EQ(fresh_.info("line")->ticket, ticket);
    fresh_.done("line");
  }
  EXPECT_EQ(fresh_.info("line"), std::nullopt);
  expect_sound(fresh_);
}

// A person may ask for it in any log: then only keys that the log does not have come back.
TEST_F(Restore, AddsMissingKeysOnRequest) {
  old_.node("a");
  old_.task("missing");
  old_.task("there");
  fresh_.node("newcomer");
  const std::uint64_t own = 9'999;
  fresh_.append(rec::dispatch(own, v1::TASK, "there"));
  fresh_.append(survivor(kSurvivor, old_.machine()));
  for (v1::Record part : parts_of(old_.machine(), kSurvivor)) {
    part.mutable_restore()->set_on_request(true);
    fresh_.append(part);
  }
  EXPECT_EQ(fresh_.state("missing"), JobState::running);
  EXPECT_EQ(fresh_.info("there")->ticket, own);
  fresh_.done("there");
  EXPECT_EQ(fresh_.info("there"), std::nullopt);
  EXPECT_EQ(origin(), RestorationState::Origin::begun);
}

// Several members may answer the same person, or one may answer twice. What is back may have ended by then.
TEST_F(Restore, ServesARequestOnce) {
  old_.node("a");
  old_.task("missing");
  fresh_.node("newcomer");
  fresh_.append(survivor(kSurvivor, old_.machine()));
  for (int time = 0; time < 2; ++time) {
    for (v1::Record part : parts_of(old_.machine(), kSurvivor)) {
      part.mutable_restore()->set_on_request(true);
      part.mutable_restore()->set_request(77);
      fresh_.append(part);
    }
    if (time == 0) fresh_.done("missing");
  }
  EXPECT_EQ(fresh_.info("missing"), std::nullopt);
  expect_sound(fresh_);
}

// A log that goes on with a state of its own has the older dead letters already.
TEST_F(Restore, AddsADeadLetterOnce) {
  for (TestPool* one : {&old_, &fresh_}) {
    one->node("a");
    one->task("dead");
    one->failed("dead", v1::Failed::BURY);
  }
  ASSERT_EQ(old_.machine().dead().size(), 1U);
  fresh_.append(survivor(kSurvivor, old_.machine()));
  for (v1::Record part : parts_of(old_.machine(), kSurvivor)) {
    part.mutable_restore()->set_on_request(true);
    fresh_.append(part);
  }
  EXPECT_EQ(fresh_.machine().dead().size(), 1U);
  expect_sound(fresh_);
}

}  // namespace
}  // namespace tenure::test
