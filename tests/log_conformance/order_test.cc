// One total order, the same for everyone, with engine times that never go back.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "log_conformance/engine.h"
#include "log_conformance/waiting.h"

namespace tenure::conformance {
namespace {

// What one writer sent in one lane lies in the log in the order it was sent, once each.
void expect_each_writer_in_order(const std::vector<Entry>& entries, std::size_t each) {
  std::map<std::string, std::size_t> next;
  for (const Entry& entry : entries) {
    const std::size_t dash = entry.data.rfind('-');
    EXPECT_EQ(entry.data.substr(dash + 1), std::to_string(next[entry.data.substr(0, dash)]++));
  }
  for (const auto& [writer, count] : next) EXPECT_EQ(count, each) << writer;
}

void append_many(Log& log, const std::string& writer, std::size_t count) {
  std::vector<Answer<Result<Position>>> answers(count);
  for (std::size_t i = 0; i < count; ++i) {
    log.append(Lane::data, writer + "-" + std::to_string(i), answers[i].callback());
  }
  for (auto& answer : answers) {
    const auto position = answer.get();
    ASSERT_TRUE(position) << position.error().message();
  }
}

TEST_P(LogConformance, AnEntryComesBackAsItWasAppended) {
  const auto log = open();
  const Bytes data("zero\0byte and \xff", 15);
  const auto position = append(*log, data);
  ASSERT_TRUE(position) << position.error().message();
  EXPECT_GT(*position, 0U);
  const auto run = read(*log, {});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_EQ(run->size(), 1U);
  EXPECT_EQ(run->front().position, *position);
  EXPECT_EQ(run->front().data, data);
}

// The end is that of all handles' entries, the moment they are acknowledged, and asking for it changes nothing.
TEST_P(LogConformance, TheEndIsWhatAnybodyWasToldLast) {
  const auto one = open();
  const auto other = open();
  const auto end_of = [](Log& log) {
    Answer<Result<Position>> answer;
    log.find_end(answer.callback());
    return answer.get();
  };
  const auto first = append(*one, "first");
  ASSERT_TRUE(first) << first.error().message();
  // A read that waits for entries does not hold it up.
  Answer<Result<std::vector<Entry>>> waiting;
  other->read(Cursor{*first, 0}, waiting.callback());
  for (int i = 0; i < 50; ++i) {
    const auto position = append(*one, "entry " + std::to_string(i));
    ASSERT_TRUE(position) << position.error().message();
    for (Log* log : {other.get(), one.get()}) {
      const auto end = end_of(*log);
      ASSERT_TRUE(end) << end.error().message();
      EXPECT_EQ(*end, *position);
    }
  }
  EXPECT_TRUE(waiting.get());
}

// Three handles append from threads of their own while three others read along.
TEST_P(LogConformance, ReadersSeeOneOrderWithoutGapsOrDuplicates) {
  constexpr std::size_t kHandles = 3;
  constexpr std::size_t kEach = 400;
  std::vector<std::unique_ptr<Log>> logs(2 * kHandles);
  for (auto& log : logs) log = open();
  std::vector<std::vector<Entry>> seen(kHandles);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kHandles; ++i) {
    threads.emplace_back([&, i] { append_many(*logs[i], "writer" + std::to_string(i), kEach); });
    threads.emplace_back([&, i] {
      Cursor cursor;
      auto entries = read_on(*logs[kHandles + i], cursor, kHandles * kEach);
      if (entries) seen[i] = std::move(*entries);
    });
  }
  for (auto& thread : threads) thread.join();

  ASSERT_EQ(seen[0].size(), kHandles * kEach);
  expect_each_writer_in_order(seen[0], kEach);
  for (std::size_t i = 1; i < seen[0].size(); ++i) EXPECT_LT(seen[0][i - 1].position, seen[0][i].position);
  for (std::size_t reader = 1; reader < kHandles; ++reader) {
    ASSERT_EQ(seen[reader].size(), seen[0].size());
    for (std::size_t i = 0; i < seen[0].size(); ++i) {
      EXPECT_EQ(seen[reader][i].position, seen[0][i].position);
      EXPECT_EQ(seen[reader][i].time_ms, seen[0][i].time_ms);
      EXPECT_EQ(seen[reader][i].data, seen[0][i].data);
    }
  }
}

TEST_P(LogConformance, TimesNeverGoBackAcrossHandlesAndReopening) {
  Cursor cursor;
  std::int64_t last_ms = 1;
  for (int round = 0; round < 5; ++round) {
    const auto one = open();
    const auto other = open();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(append(i % 2 == 0 ? *one : *other, "x"));
    const auto entries = read_on(*one, cursor, 10);
    ASSERT_TRUE(entries) << entries.error().message();
    for (const Entry& entry : *entries) {
      EXPECT_GE(entry.time_ms, last_ms);
      last_ms = entry.time_ms;
    }
  }
}

// A reader that starts in the middle gets what comes after, however many runs it takes.
TEST_P(LogConformance, LongRunsAreHandedOverInBoundedPieces) {
  const auto log = open();
  constexpr std::size_t kEntries = 40;
  for (std::size_t i = 0; i < kEntries; ++i) ASSERT_TRUE(append(*log, Bytes(100'000, static_cast<char>('a' + i % 26))));
  const auto first = read(*log, {});
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_LT(first->size(), kEntries);
  Cursor cursor = Cursor::at(first->back());
  const auto rest = read_on(*log, cursor, kEntries - first->size());
  ASSERT_TRUE(rest) << rest.error().message();
  EXPECT_EQ(rest->size() + first->size(), kEntries);
}

TEST_P(LogConformance, AnEmptyEntryIsAnEntry) {
  const auto log = open();
  ASSERT_TRUE(append(*log, ""));
  ASSERT_TRUE(append(*log, "after"));
  Cursor cursor;
  const auto entries = read_on(*log, cursor, 2);
  ASSERT_TRUE(entries) << entries.error().message();
  EXPECT_EQ(entries->at(0).data, "");
  EXPECT_EQ(entries->at(1).data, "after");
}

TEST_P(LogConformance, AnEntryOfTheLargestSizeFitsAndALargerOneIsRefused) {
  const auto log = open();
  EXPECT_EQ(code_of(append(*log, Bytes(kEntryBytesMax + 1, 'x'))), Errc::invalid);
  const auto position = append(*log, Bytes(kEntryBytesMax, 'y'));
  ASSERT_TRUE(position) << position.error().message();
  const auto run = read(*log, {});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_EQ(run->size(), 1U);
  EXPECT_EQ(run->front().data.size(), kEntryBytesMax);
}

// Returns how many appends of a flood are answered before a beat that comes after them. The callbacks are held until
// the beat has been sent, so a beat that had to wait for the flood would be answered last. Appends that the engine has
// committed before it gets the beat are included.
std::size_t answered_before_a_beat(Log& log, std::size_t flood) {
  std::promise<void> gate;
  const auto open_gate = gate.get_future().share();
  std::atomic<std::size_t> answered = 0;
  std::vector<Answer<Result<Position>>> answers(flood);
  for (auto& answer : answers) {
    log.append(Lane::data, Bytes(16384, 'd'), [&, callback = answer.callback()](Result<Position> position) {
      open_gate.wait();
      ++answered;
      callback(std::move(position));
    });
  }
  Answer<Result<Position>> beat;
  std::size_t before = 0;
  log.append(Lane::beat, "beat", [&, callback = beat.callback()](Result<Position> position) {
    before = answered;
    callback(std::move(position));
  });
  gate.set_value();
  EXPECT_TRUE(beat.get());
  for (auto& answer : answers) EXPECT_TRUE(answer.get());
  return before;
}

// On a busy machine the engine may be done with the flood before this thread comes to the beat. Where beats do not
// overtake, all of it is always answered first.
TEST_P(LogConformance, ABeatOvertakesAFloodOfData) {
  constexpr std::size_t kFlood = 2000;
  const auto log = open();
  std::size_t least = kFlood;
  for (int trial = 0; trial < 10 && least > kFlood * 3 / 4; ++trial) {
    least = std::min(least, answered_before_a_beat(*log, kFlood));
  }
  EXPECT_LE(least, kFlood * 3 / 4);
}

TEST_P(LogConformance, AReadOnlyOpenerReadsAndChangesNothing) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "x"));
  const auto reader = open(true);
  const auto run = read(*reader, {});
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->front().data, "x");
  EXPECT_EQ(code_of(append(*reader, "y")), Errc::refused);
  EXPECT_EQ(code_of(store_snapshot(*reader, Cursor::at(run->front()), {"state"})), Errc::refused);
  EXPECT_EQ(code_of(trim(*reader, 1)), Errc::refused);
  EXPECT_EQ(code_of(remove(*reader)), Errc::refused);
}

// Where a place has room for one pool only; elsewhere the other name leads to a log of its own.
TEST_P(LogConformance, AnOpenerWithAnotherPoolNameDoesNotGetThisPool) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "mine"));
  const auto other = open_log(url(), {.pool = "other", .read_only = false});
  if (!GetParam().many_pools) {
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, Errc::refused);
    return;
  }
  ASSERT_TRUE(other) << other.error().message();
  ASSERT_TRUE(append(**other, "theirs"));
  ASSERT_TRUE(remove(**other));
  const auto run = read(*log, {});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_EQ(run->size(), 1U);
  EXPECT_EQ(run->front().data, "mine");
}

}  // namespace
}  // namespace tenure::conformance
