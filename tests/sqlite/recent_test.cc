// Which commits the memory keeps, and which readers get them.

#include "log/sqlite/recent_commits.h"

#include <gtest/gtest.h>

#include "log/sqlite/handout.h"

namespace tenure::conformance {
namespace {

using sqlite::RecentCommits;

constexpr std::uint32_t kAnnounced = 7;

Cursor cursor_at(Position position, BytesView data, std::int64_t time_ms) {
  return {position, Cursor::hash_of(data, time_ms)};
}

// "POSITION@TIME:DATA …", or "ask the file".
std::string told(const std::optional<std::vector<Entry>>& entries) {
  if (!entries) return "ask the file";
  std::string all;
  for (const Entry& entry : *entries) {
    all += (all.empty() ? "" : " ") + std::to_string(entry.position) + "@" + std::to_string(entry.time_ms) + ":" +
           entry.data;
  }
  return all;
}

// Entries 5 to 9, in commits of two, one and two.
class SqliteRecent : public testing::Test {
 protected:
  void SetUp() override {
    recent_.put(5, 100, {"a", "b"}, kAnnounced - 2);
    recent_.put(7, 101, {"c"}, kAnnounced - 1);
    recent_.put(8, 102, {"", "e"}, kAnnounced);
  }
  RecentCommits recent_;
};

TEST_F(SqliteRecent, HandsOutWhatFollowsTheCursor) {
  EXPECT_EQ(told(recent_.after(cursor_at(5, "a", 100), 0)), "6@100:b 7@101:c 8@102: 9@102:e");
  EXPECT_EQ(told(recent_.after(cursor_at(6, "b", 100), 0)), "7@101:c 8@102: 9@102:e");
  EXPECT_EQ(told(recent_.after(cursor_at(7, "c", 101), 0)), "8@102: 9@102:e");
  EXPECT_EQ(told(recent_.after(cursor_at(8, "", 102), 0)), "9@102:e");
}

TEST_F(SqliteRecent, ACursorWhoseEntryIsNotKeptIsForTheFile) {
  EXPECT_EQ(told(recent_.after({}, kAnnounced)), "ask the file");
  EXPECT_EQ(told(recent_.after({4, 0}, kAnnounced)), "ask the file");
  EXPECT_EQ(told(recent_.after({10, 0}, kAnnounced)), "ask the file");
  EXPECT_EQ(told(RecentCommits().after({}, 0)), "ask the file");
  EXPECT_EQ(told(RecentCommits().after({1, 0}, 0)), "ask the file");
}

// Another entry, or the same one at another time. A second look finds the same as the first.
TEST_F(SqliteRecent, ACursorOfAnotherHistoryIsForTheFile) {
  for (int look = 0; look < 2; ++look) {
    EXPECT_EQ(told(recent_.after(cursor_at(5, "x", 100), kAnnounced)), "ask the file");
    EXPECT_EQ(told(recent_.after(cursor_at(5, "a", 101), kAnnounced)), "ask the file");
    EXPECT_EQ(told(recent_.after(cursor_at(6, "x", 100), kAnnounced)), "ask the file");
    EXPECT_EQ(told(recent_.after(cursor_at(9, "x", 102), kAnnounced)), "ask the file");
    EXPECT_EQ(told(recent_.after(cursor_at(9, "e", 102), kAnnounced)), "");
  }
  EXPECT_EQ(told(recent_.after({8, 0}, 0)), "9@102:e") << "a hash of zero proves nothing, and need not";
}

TEST_F(SqliteRecent, TheEndIsTheEndOnlyWhileNobodyElseHasAnnouncedACommit) {
  const Cursor end = cursor_at(9, "e", 102);
  EXPECT_EQ(told(recent_.after(end, kAnnounced - 1)), "ask the file");
  EXPECT_EQ(told(recent_.after(end, kAnnounced)), "");
  EXPECT_EQ(told(recent_.after(end, kAnnounced + 1)), "ask the file");
  recent_.put(10, 103, {"f"}, kAnnounced + 2);
  EXPECT_EQ(told(recent_.after(end, kAnnounced + 1)), "10@103:f");
  EXPECT_EQ(told(recent_.after(cursor_at(10, "f", 103), kAnnounced + 2)), "");
}

TEST_F(SqliteRecent, CommitsThatDoNotFollowDropThoseBefore) {
  for (const Position first : {Position{11}, Position{9}, Position{1}}) {
    recent_.put(first, 103, {"anew", "and"}, 0);
    EXPECT_EQ(told(recent_.after(cursor_at(8, "", 102), 0)), "ask the file");
    EXPECT_EQ(told(recent_.after(cursor_at(first, "anew", 103), 0)), std::to_string(first + 1) + "@103:and");
  }
}

TEST_F(SqliteRecent, NothingIsLeftOnceItIsCleared) {
  recent_.clear();
  EXPECT_EQ(told(recent_.after(cursor_at(5, "a", 100), kAnnounced)), "ask the file");
  EXPECT_EQ(told(recent_.after(cursor_at(9, "e", 102), kAnnounced)), "ask the file");
  recent_.put(10, 103, {"f", "g"}, 0);
  EXPECT_EQ(told(recent_.after(cursor_at(9, "e", 102), 0)), "ask the file");
  EXPECT_EQ(told(recent_.after(cursor_at(10, "f", 103), 0)), "11@103:g");
}

// The oldest go first, by bytes and by number, and what is left follows the cursor without a gap.
TEST(SqliteRecentBounds, OldCommitsMakeRoom) {
  constexpr std::size_t kSize = sqlite::kRecentBytesMax / 4;
  RecentCommits large;
  for (Position first = 1; first <= 9; ++first) large.put(first, 100, {Bytes(kSize, 'x')}, 0);
  EXPECT_FALSE(large.after({5, 0}, 0));
  ASSERT_TRUE(large.after({6, 0}, 0));
  EXPECT_EQ(large.after({6, 0}, 0)->front().position, 7U);
  EXPECT_EQ(large.after({8, 0}, 0)->front().position, 9U);

  RecentCommits small;
  for (Position first = 1; first <= 3 * sqlite::kRecentEntriesMax; first += 2) small.put(first, 100, {"", ""}, 0);
  EXPECT_FALSE(small.after({2 * sqlite::kRecentEntriesMax, 0}, 0));
  EXPECT_TRUE(small.after({2 * sqlite::kRecentEntriesMax + 1, 0}, 0));
}

TEST(SqliteRecentBounds, ACommitThatIsTooLargeIsNotKept) {
  RecentCommits recent;
  recent.put(1, 100, {"a", "b"}, 0);
  recent.put(3, 100, {Bytes(sqlite::kRecentBytesMax, 'x'), "y"}, 0);
  EXPECT_FALSE(recent.after({1, 0}, 0));
  EXPECT_FALSE(recent.after({3, 0}, 0));
  recent.put(5, 100, {"c", "d"}, 0);
  EXPECT_EQ(told(recent.after({5, 0}, 0)), "6@100:d");
}

TEST(SqliteRecentBounds, ReadersAreHandedAsMuchAsFromTheFile) {
  RecentCommits many;
  for (const Position first : {Position{1}, Position{4001}}) many.put(first, 100, std::vector<Bytes>(4000, "x"), 0);
  EXPECT_EQ(many.after({1, 0}, 0)->size(), sqlite::kHandoutEntriesMax);
  EXPECT_EQ(many.after({1, 0}, 0)->back().position, 1 + sqlite::kHandoutEntriesMax);

  RecentCommits large;
  const Bytes half(sqlite::kHandoutBytesMax / 2, 'x');
  large.put(1, 100, {"x", half, half, "z"}, 0);
  EXPECT_EQ(large.after({1, 0}, 0)->size(), 2U);
  RecentCommits one;
  one.put(1, 100, {"x", Bytes(sqlite::kHandoutBytesMax + 1, 'y'), "z"}, 0);
  EXPECT_EQ(one.after({1, 0}, 0)->size(), 1U) << "an entry larger than the bound is handed out alone";
}

}  // namespace
}  // namespace tenure::conformance
