// Several processes on one log: writers, readers, and kill -9. For engines that are not limited to one process.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>

#include "base/clock.h"
#include "base/entropy.h"
#include "log_conformance/child.h"
#include "log_conformance/engine.h"
#include "log_conformance/waiting.h"

namespace tenure::conformance {
namespace {

// "POSITION DATA"
std::pair<Position, std::string> parse_ack(const std::string& line) {
  const std::size_t space = line.find(' ');
  return {std::stoull(line.substr(0, space)), line.substr(space + 1)};
}

TEST_P(LogAcrossProcesses, WritersInSeveralProcessesShareOneOrder) {
  constexpr std::size_t kEach = 500;
  const auto log = open();
  std::vector<std::unique_ptr<Child>> writers;
  for (const char* name : {"a", "b", "c"}) {
    writers.push_back(std::make_unique<Child>(TENURE_ACTOR, std::vector<std::string>{url(), "append", name, "500"}));
  }
  Cursor cursor;
  const auto entries = read_on(*log, cursor, writers.size() * kEach);
  ASSERT_TRUE(entries) << entries.error().message();

  std::map<Position, std::string> by_position;
  std::map<std::string, std::size_t> next;
  for (const Entry& entry : *entries) {
    EXPECT_TRUE(by_position.empty() || by_position.rbegin()->first < entry.position);
    by_position[entry.position] = entry.data;
    EXPECT_EQ(entry.data.substr(2), std::to_string(next[entry.data.substr(0, 1)]++));
  }
  for (const auto& writer : writers) {
    while (const auto line = writer->line()) {
      const auto [position, data] = parse_ack(*line);
      EXPECT_EQ(by_position[position], data);
    }
    EXPECT_EQ(writer->wait(), 0);
  }
}

// No writer waits for another to finish: while the first one still has most of its work to do, the second gets through.
TEST_P(LogAcrossProcesses, AWriterIsNotStarvedByOneThatNeverPauses) {
  const auto log = open();
  Child busy(TENURE_ACTOR, {url(), "append", "busy", "1000000"});
  ASSERT_TRUE(busy.line());
  std::vector<std::chrono::nanoseconds> waits;
  for (int i = 0; i < 50; ++i) {
    const auto started = std::chrono::steady_clock::now();
    ASSERT_TRUE(append(*log, "mine"));
    waits.push_back(std::chrono::steady_clock::now() - started);
    // The pipe is drained, so that the other one is never held up by it.
    for (int lines = 0; lines < 100; ++lines) ASSERT_TRUE(busy.line());
  }
  std::sort(waits.begin(), waits.end());
  std::printf("append beside a busy writer: median %.3f ms, worst %.3f ms\n",
              static_cast<double>(waits[25].count()) / 1e6, static_cast<double>(waits.back().count()) / 1e6);
  EXPECT_LT(waits[25], std::chrono::milliseconds(100));
}

// The writer is killed at a random moment, many times over; whatever it had reported is there.
TEST_P(LogAcrossProcesses, AcknowledgedEntriesSurviveKillingTheWriter) {
  const std::uint64_t seed = SystemEntropy().next();
  SCOPED_TRACE("seed " + std::to_string(seed));
  SeededEntropy entropy(seed);
  Cursor cursor;
  for (int round = 0; round < 25; ++round) {
    std::map<Position, std::string> acknowledged;
    {
      Child writer(TENURE_ACTOR, {url(), "append", "round" + std::to_string(round), "1000000"});
      const std::uint64_t acks = 1 + entropy.below(200);
      for (std::uint64_t i = 0; i < acks; ++i) {
        const auto line = writer.line();
        ASSERT_TRUE(line);
        acknowledged.insert(parse_ack(*line));
      }
      writer.signal(SIGKILL);
      while (const auto line = writer.line()) acknowledged.insert(parse_ack(*line));
    }
    const auto log = open();
    std::map<Position, std::string> found;
    while (found.empty() || found.rbegin()->first < acknowledged.rbegin()->first) {
      const auto run = read(*log, cursor);
      ASSERT_TRUE(run) << run.error().message();
      for (const Entry& entry : *run) found[entry.position] = entry.data;
      cursor = Cursor::at(run->back());
    }
    for (const auto& [position, data] : acknowledged) EXPECT_EQ(found[position], data);
    // Entries that were written but not reported are read by the next round; move past them.
    ASSERT_TRUE(append(*log, "end of round"));
    for (bool ended = false; !ended;) {
      const auto run = read(*log, cursor);
      ASSERT_TRUE(run) << run.error().message();
      cursor = Cursor::at(run->back());
      ended = run->back().data == "end of round";
    }
  }
}

// The entry took effect but its writer died before it could say so. Sending it again is accepted, and a reader sees
// both, to be told apart by content.
TEST_P(LogAcrossProcesses, AnAppendWhoseAnswerWasLostMayBeSentAgain) {
  const auto log = open();
  {
    Child writer(TENURE_ACTOR, {url(), "lose-answer", "node7-sequence1"});
    EXPECT_EQ(writer.wait(), -SIGKILL);
  }
  ASSERT_TRUE(append(*log, "node7-sequence1"));
  ASSERT_TRUE(append(*log, "node7-sequence2"));
  Cursor cursor;
  const auto entries = read_on(*log, cursor, 3);
  ASSERT_TRUE(entries) << entries.error().message();
  EXPECT_EQ(entries->at(0).data, "node7-sequence1");
  EXPECT_EQ(entries->at(1).data, "node7-sequence1");
  EXPECT_EQ(entries->at(2).data, "node7-sequence2");
}

// The pool is removed while a process reads it. That process continues with its handle, in a log that it may be the
// first to create.
TEST_P(LogAcrossProcesses, AfterLostHistoryAHandleOfAnotherProcessBeginsAnew) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "before"));
  Child other(TENURE_ACTOR, {url(), "begin-anew", "after"});
  ASSERT_EQ(other.line(), "read before");
  ASSERT_TRUE(remove(*log));
  EXPECT_EQ(other.line(), "lost_history");
  EXPECT_EQ(other.wait(), 0);
  ASSERT_TRUE(load_snapshot(*log));
  const auto run = read(*log, {});
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->front().data, "after");
}

// From before the append to after the read in another process, the commit included. On an idle machine it is well below
// a millisecond; the bound leaves room for a busy one and still tells a wake-up from a poll.
TEST_P(LogAcrossProcesses, AReaderInAnotherProcessIsWokenPromptly) {
  constexpr std::size_t kCount = 200;
  const auto log = open();
  Child reader(TENURE_ACTOR, {url(), "measure", std::to_string(kCount)});
  ASSERT_EQ(reader.line(), "ready");
  std::vector<long long> nanos;
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(append(*log, std::to_string(BootClock().now().since_boot.count())));
    const auto line = reader.line();
    ASSERT_TRUE(line);
    nanos.push_back(std::stoll(*line));
  }
  EXPECT_EQ(reader.wait(), 0);
  std::sort(nanos.begin(), nanos.end());
  std::printf("append to read in another process: median %.3f ms, p99 %.3f ms\n",
              static_cast<double>(nanos[kCount / 2]) / 1e6, static_cast<double>(nanos[kCount * 99 / 100]) / 1e6);
  EXPECT_LT(nanos[kCount / 2], 50'000'000);
}

}  // namespace
}  // namespace tenure::conformance
