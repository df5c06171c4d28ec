// A stream between processes: one adds, another reads, and either may die.

#include <csignal>

#include "log_conformance/child.h"
#include "source_conformance/engine.h"

namespace tenure::conformance {
namespace {

TEST_P(SourceAcrossProcesses, AnotherProcessAddsWhatIsReadHere) {
  const auto made = writer();
  Reading reader = reading();
  Child adder(TENURE_STREAM_ACTOR, {url(), "add", "e", "200"});
  const auto read = reader.until(200);
  ASSERT_EQ(read.size(), 200U);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(read[static_cast<std::size_t>(i)].payload, "e" + std::to_string(i));
    EXPECT_EQ(adder.line(), std::to_string(read[static_cast<std::size_t>(i)].position));
  }
  EXPECT_EQ(adder.wait(), 0);
}

TEST_P(SourceAcrossProcesses, AnotherProcessReadsWhatIsAddedHere) {
  const auto stream = writer();
  Child follower(TENURE_STREAM_ACTOR, {url(), "read", "100"});
  for (int i = 0; i < 100; ++i) add(*stream, {event_of("e" + std::to_string(i))});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(follower.line(), "e" + std::to_string(i));
  EXPECT_EQ(follower.wait(), 0);
}

// What was acknowledged before a writer was killed is there, and the others go on.
TEST_P(SourceAcrossProcesses, AWriterThatIsKilledLosesNothing) {
  const auto stream = writer();
  std::vector<std::uint64_t> acknowledged;
  {
    Child adder(TENURE_STREAM_ACTOR, {url(), "add", "e", "1000000"});
    for (int i = 0; i < 50; ++i) {
      const auto line = adder.line();
      ASSERT_TRUE(line);
      acknowledged.push_back(std::stoull(*line));
    }
    adder.signal(SIGKILL);
    adder.wait();
    while (const auto line = adder.line_at_hand()) acknowledged.push_back(std::stoull(*line));
  }
  const auto last = add(*stream, {event_of("last")});
  ASSERT_EQ(last.size(), 1U);
  Reading reader = reading();
  while (reader.position < last[0]) ASSERT_TRUE(reader.next());
  ASSERT_GT(reader.events.size(), acknowledged.size());
  for (std::size_t i = 0; i < acknowledged.size(); ++i) {
    EXPECT_EQ(reader.events[i].position, acknowledged[i]);
    EXPECT_EQ(reader.events[i].payload, "e" + std::to_string(i));
  }
  EXPECT_TRUE(reader.losses.empty());
}

// Two processes that fill a stream together stop at its bound.
TEST_P(SourceAcrossProcesses, ABoundHoldsForAllProcesses) {
  if (!GetParam().limits) GTEST_SKIP() << "streams are not bounded";
  const auto stream = writer();
  ASSERT_TRUE(stream->set_limits({.events_max = 100, .at_bound = source::StreamLimits::AtBound::refuse}));
  Child one(TENURE_STREAM_ACTOR, {url(), "fill", "a"});
  Child two(TENURE_STREAM_ACTOR, {url(), "fill", "b"});
  std::uint64_t added = 0;
  for (Child* child : {&one, &two}) {
    const auto count = child->line();
    ASSERT_TRUE(count);
    added += std::stoull(*count);
    EXPECT_EQ(child->wait(), 0);
  }
  EXPECT_EQ(added, 100U);
  const auto info = stream->info();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->events, 100U);
}

}  // namespace
}  // namespace tenure::conformance
