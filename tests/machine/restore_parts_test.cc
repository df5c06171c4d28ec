// A pool comes back in parts, and the member that sends them may die over it. Keys are cut, jobs end meanwhile, and the
// member that goes on may remember less.

#include "machine/restoring.h"

namespace tenure::test {
namespace {

constexpr std::size_t kOneJob = 1;  // a part has one, however large it is

class RestoreParts : public testing::Test {
 protected:
  static constexpr std::uint64_t kFirst = 500;
  static constexpr std::uint64_t kNext = 501;

  // The new log, with two members. The second one remembers `older`.
  void begin(const Machine& older) {
    fresh_.append({survivor(kFirst, old_.machine()), rec::add_worker(kFirst, "w")});
    fresh_.append({survivor(kNext, older), rec::add_worker(kNext, "v")});
  }
  void begin() { begin(old_.machine()); }
  void put_back(std::size_t bytes) {
    for (const v1::Record& part : parts_of(old_.machine(), kFirst, bytes)) fresh_.append(part);
  }
  // The first member dies, and the second one sends the rest of what it remembers.
  void go_on_with(const Machine& remembered) {
    fresh_.crash(kFirst);
    for (const v1::Record& part : parts_of(remembered, kNext, kOneJob, &fresh_.machine())) fresh_.append(part);
  }
  void remember_now(Machine& into) { ASSERT_TRUE(into.restore(save(old_.machine()))); }
  std::uint64_t source_position(const Bytes& name) const {
    const auto found = fresh_.machine().sources().find(name);
    return found == fresh_.machine().sources().end() ? 0 : found->second.position;
  }
  void emit(std::uint64_t after, std::uint64_t position, BytesView key) {
    rec::EmitSpec spec{.source = "s", .key = "src", .epoch = old_.epoch("src"), .position = position, .after = after};
    spec.tasks.emplace_back(0, rec::dispatch(old_.new_ticket(), v1::TASK, key));
    old_.append(rec::emit(old_.new_ticket(), spec));
  }

  TestPool old_;
  TestPool fresh_{1, TestPool::kSender + 1};
};

// Nothing joins a resident's key. What comes beside the resident with a later part must not leave it without a holder.
TEST_F(RestoreParts, AResidentIsHeldOnceItsDeadTaskIsThere) {
  old_.node("a");
  old_.task("k");
  old_.failed("k", v1::Failed::BURY);
  old_.running("k");
  begin();
  const TestPool::Records parts = parts_of(old_.machine(), kFirst, kOneJob);
  ASSERT_EQ(parts.size(), 2U);
  fresh_.append(parts[0]);
  EXPECT_EQ(fresh_.state("k"), JobState::waiting);
  fresh_.append(parts[1]);
  EXPECT_EQ(fresh_.state("k"), JobState::starting);
  expect_sound(fresh_);
}

// The delay of a retry holds for a key that was cut, too.
TEST_F(RestoreParts, AKeyThatWasCutKeepsItsRetryDelay) {
  old_.node("a");
  const std::uint64_t first = old_.task("line");
  old_.task("line");
  old_.failed("line", v1::Failed::REQUEUE, 20'000);
  begin();
  put_back(kOneJob);
  fresh_.pass(18'000);
  EXPECT_EQ(fresh_.state("line"), JobState::waiting);
  fresh_.pass(4'000);
  EXPECT_EQ(fresh_.state("line"), JobState::running);
  EXPECT_EQ(fresh_.info("line")->ticket, first);
  expect_sound(fresh_);
}

// A job that is back may be stopped before the rest of its key is there. It does not come again with the next member.
TEST_F(RestoreParts, WhatEndsMeanwhileDoesNotComeBackAgain) {
  old_.node("a");
  const std::uint64_t first = old_.task("line");
  const std::uint64_t second = old_.task("line");
  begin();
  fresh_.append(parts_of(old_.machine(), kFirst, kOneJob)[0]);
  fresh_.append(rec::stop(4'711, "line"));
  EXPECT_EQ(fresh_.outcome(first), TicketState::stopped);
  expect_sound(fresh_);
  go_on_with(old_.machine());
  ASSERT_TRUE(fresh_.info("line"));
  EXPECT_EQ(fresh_.info("line")->ticket, second);
  fresh_.done("line");
  EXPECT_EQ(fresh_.info("line"), std::nullopt);
  expect_sound(fresh_);
}

// The member that goes on has not read of the key that was cut: what is back of it waits for nothing more.
TEST_F(RestoreParts, AKeyThatTheNextMemberDoesNotKnowGoesOn) {
  old_.node("a");
  Machine older;
  remember_now(older);
  const std::uint64_t first = old_.task("line");
  old_.task("line");
  begin(older);
  fresh_.append(parts_of(old_.machine(), kFirst, kOneJob)[0]);
  ASSERT_EQ(fresh_.state("line"), JobState::waiting);
  go_on_with(older);
  EXPECT_FALSE(fresh_.machine().restoration().under_way);
  EXPECT_EQ(fresh_.state("line"), JobState::running);
  EXPECT_EQ(fresh_.info("line")->ticket, first);
  expect_sound(fresh_);
}

// The first member had read more of a source than the next one. Its tasks may lie in keys that are not back, so the
// source goes on where the next member knows it to be. The pool says that it is as of another position now.
TEST_F(RestoreParts, TheNextMembersPositionOfASourceCounts) {
  old_.node("a");
  old_.running("src");
  emit(0, 5, "x");
  Machine older;
  remember_now(older);
  emit(5, 9, "y");
  begin(older);
  fresh_.append(parts_of(old_.machine(), kFirst, kOneJob)[0]);
  EXPECT_EQ(source_position("s"), 9U);
  go_on_with(older);
  EXPECT_EQ(source_position("s"), 5U);
  EXPECT_EQ(fresh_.machine().restoration().position, older.position());
  expect_sound(fresh_);
}

TEST_F(RestoreParts, TheSamePositionStaysWhereBothHaveReadTheSame) {
  old_.node("a");
  old_.running("src");
  emit(0, 5, "x");
  begin();
  fresh_.append(parts_of(old_.machine(), kFirst, kOneJob)[0]);
  go_on_with(old_.machine());
  EXPECT_EQ(source_position("s"), 5U);
  EXPECT_EQ(fresh_.machine().keys(), 2U);
}

}  // namespace
}  // namespace tenure::test
