// Topics that are deleted and made again, by us and by others, and records that are not of the log.

#include "kafka/place.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

class KafkaIdentity : public KafkaTest {
 protected:
  void delete_log() const { admin().delete_topics({log_topic(), snapshots_topic()}); }
};

// Far less than a lease.
constexpr auto kSoon = 10s;

class KafkaIdentityLives : public KafkaIdentity, public testing::WithParamInterface<Life> {};

TEST_P(KafkaIdentityLives, AMemberNoticesThatTheTopicsWereDeleted) {
  auto log = open();
  const Entry last = put(*log, "before");
  Member member(std::move(log), Cursor::at(last), GetParam());
  delete_log();
  EXPECT_TRUE(soon(kSoon, [&] { return member.lost(); }));
}

// Nothing tells the clients: the topic has the same name, and is there whenever they look.
TEST_P(KafkaIdentityLives, AMemberNoticesThatTheTopicsWereDeletedAndMadeAgain) {
  auto log = open();
  const Entry last = put(*log, "before");
  Member member(std::move(log), Cursor::at(last), GetParam());
  delete_log();
  const auto anew = open();
  ASSERT_TRUE(insist_append(*anew, "anew"));
  EXPECT_TRUE(soon(kSoon, [&] { return member.lost(); }));
  EXPECT_FALSE(member.has_read("anew"));
}

INSTANTIATE_TEST_SUITE_P(Lives, KafkaIdentityLives, testing::Values(Life::idle, Life::beating, Life::busy),
                         [](const auto& tested) { return name_of(tested.param); });

// The new log has grown past everything that the old handle knows, so that no offset is out of range for it.
TEST_F(KafkaIdentity, ABeatDoesNotConfirmALeaseInTheNextLog) {
  const auto old = open();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(append(*old, "old " + std::to_string(i)));
  ASSERT_TRUE(append(*old, "beat", Lane::beat));
  delete_log();
  const auto anew = open();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(append(*anew, "new " + std::to_string(i)));
  EXPECT_EQ(code_of(append(*old, "stray beat", Lane::beat)), Errc::lost_history);
  EXPECT_EQ(code_of(append(*old, "too early")), Errc::lost_history);
  ASSERT_TRUE(append(*anew, "end"));
  // What the old handle got into the topic is not in the log.
  Cursor cursor;
  const auto run = read_on(*anew, cursor, 51);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->size(), 51U);
  for (const Entry& entry : *run) EXPECT_NE(entry.data, "stray beat");
  // And it goes on there.
  ASSERT_TRUE(load_snapshot(*old));
  ASSERT_TRUE(append(*old, "here now", Lane::beat));
}

// A reader that is fast enough to follow into the next log reads only what other stray members wrote there. It must not
// take an own beat that it reads there for a confirmation.
TEST_F(KafkaIdentity, AnOwnBeatInTheNextLogIsNotRead) {
  auto log = open();
  const Entry last = put(*log, "before");
  Member member(std::move(log), Cursor::at(last), Life::beating);
  ASSERT_TRUE(soon(kSoon, [&] { return member.has_read("beat 3"); }));
  delete_log();
  const auto anew = open();
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(append(*anew, "new"));
  EXPECT_TRUE(soon(kSoon, [&] { return member.lost(); }));
  EXPECT_FALSE(member.has_read("new"));
}

TEST_F(KafkaIdentity, RecordsOfOtherProgramsAreNotRead) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "first"));
  admin().write(log_topic(), 0, "", "no key");
  admin().write(log_topic(), 0, "some key", "of somebody");
  admin().write(log_topic(), 0, "T1E", "short");
  ASSERT_TRUE(append(*log, "second"));
  Cursor cursor;
  const auto run = read_on(*log, cursor, 2);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->at(0).data, "first");
  EXPECT_EQ(run->at(1).data, "second");
}

// Pieces without the last one: a writer that died. The next reader passes them.
TEST_F(KafkaIdentity, AnEntryThatWasNotFinishedIsNoEntry) {
  const auto log = open();
  const Bytes large(3'000'000, 'L');
  ASSERT_TRUE(append(*log, large));
  ASSERT_TRUE(append(*log, "after"));
  Cursor cursor;
  const auto run = read_on(*log, cursor, 2);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->at(0).data, large);
  // A reader that brings the large entry's cursor proves it by its content.
  const auto next = read(*open(), Cursor::at(run->at(0)));
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_EQ(next->front().data, "after");
  Cursor wrong = Cursor::at(run->at(0));
  wrong.hash ^= 2;
  EXPECT_EQ(code_of(read(*open(), wrong)), Errc::lost_history);
}

}  // namespace
}  // namespace tenure::conformance
