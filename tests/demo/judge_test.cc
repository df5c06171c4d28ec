// The figures of the demo: distributions, the minimum of moves, and the audit of a journal. Each case is small enough
// to count by hand.

#include <gtest/gtest.h>

#include "demo/audit.h"
#include "demo/figures.h"
#include "demo/human_ms.h"
#include "demo/moves.h"

namespace tenure::demo {
namespace {

std::string json_of(std::vector<double> samples) {
  render::Json json;
  render::write(json.object(), "d", distribution(std::move(samples)));
  return json.end().text();
}

TEST(Distribution, GivesMeasuredValuesByNearestRank) {
  std::vector<double> samples;
  for (int sample = 100; sample >= 1; --sample) samples.push_back(sample);
  const Distribution of = distribution(samples);
  EXPECT_EQ(of.p50, 50);
  EXPECT_EQ(of.p99, 99);
  EXPECT_EQ(of.max, 100);
  EXPECT_EQ(of.n, 100U);
  EXPECT_EQ(json_of({1.5}), R"({"d":{"p50":1.500,"p99":1.500,"max":1.500,"n":1}})");
  EXPECT_EQ(json_of({}), R"({"d":{"p50":0.000,"p99":0.000,"max":0.000,"n":0}})");
}

TEST(Distribution, IsToldInUnitsThatFit) {
  EXPECT_EQ(human_ms(0.84), "840 µs");
  EXPECT_EQ(human_ms(8.04), "8.0 ms");
  EXPECT_EQ(human_ms(23.4), "23 ms");
  EXPECT_EQ(human_ms(1240), "1.24 s");
}

TEST(MovesNeeded, AreThoseOfTheDead) {
  const Holders before = {{"a", 1}, {"b", 1}, {"c", 2}, {"d", 3}};
  EXPECT_EQ(moves_needed(before, {{"a", 2}, {"b", 3}, {"c", 2}, {"d", 3}}), 2U);
}

TEST(MovesNeeded, AreThoseThatANewcomerGets) {
  const Holders before = {{"a", 1}, {"b", 1}, {"c", 2}, {"d", 2}};
  EXPECT_EQ(moves_needed(before, {{"a", 1}, {"b", 9}, {"c", 2}, {"d", 9}}), 2U);
}

TEST(MovesNeeded, DoNotCountWhatWentFromOneSurvivorToAnother) {
  const Holders before = {{"a", 1}, {"b", 1}, {"c", 2}, {"d", 2}};
  EXPECT_EQ(moves_needed(before, {{"a", 1}, {"b", 2}, {"c", 1}, {"d", 2}}), 0U);
  EXPECT_EQ(moves_needed({}, before), 0U);
  EXPECT_EQ(moves_needed(before, before), 0U);
}

JournalLine begin(std::uint64_t epoch, std::int64_t at_ns) {
  return {0, JournalLine::What::begin, "a", "w", epoch, 0, at_ns};
}
JournalLine tick(std::uint64_t epoch, std::uint64_t number, std::int64_t at_ns) {
  return {0, JournalLine::What::tick, "a", "w", epoch, number, at_ns};
}

Audit audit(const std::vector<JournalLine>& lines) {
  Audit audit;
  for (const JournalLine& line : lines) audit.take(line);
  return audit;
}

TEST(Audit, FindsNothingWrongWithAHandover) {
  const Audit sound = audit({begin(1, 10), tick(1, 1, 20), tick(1, 2, 30), begin(2, 40), tick(2, 3, 50)});
  EXPECT_EQ(sound.double_holders(), 0U);
  EXPECT_EQ(sound.lost(), 0U);
  EXPECT_EQ(sound.ticks(), 3U);
  EXPECT_EQ(sound.last_tick("a"), 3U);
}

// The ledger took the old holder's tick before the new one's claim, so that no epoch stood in its way.
TEST(Audit, FindsAnOldHolderThatWroteAfterTheNewOneBegan) {
  EXPECT_EQ(audit({begin(1, 10), tick(1, 1, 45), begin(2, 40), tick(2, 2, 50)}).double_holders(), 1U);
  EXPECT_EQ(audit({begin(1, 10), begin(2, 40), tick(1, 1, 45)}).double_holders(), 1U);
}

TEST(Audit, CountsGapsAndRepetitions) {
  EXPECT_EQ(audit({begin(1, 10), tick(1, 1, 20), tick(1, 4, 30)}).lost(), 2U);
  EXPECT_EQ(audit({begin(1, 10), tick(1, 1, 20), tick(1, 1, 30), tick(1, 2, 40)}).lost(), 1U);
}

TEST(Audit, CountsRefusedWritesAndNothingElseOfThem) {
  const JournalLine refused{0, JournalLine::What::refused, "a", "w", 1, 2, 90};
  const Audit sound = audit({begin(1, 10), tick(1, 1, 20), begin(2, 40), refused, tick(2, 2, 95)});
  EXPECT_EQ(sound.refused(), 1U);
  EXPECT_EQ(sound.double_holders(), 0U);
  EXPECT_EQ(sound.lost(), 0U);
}

TEST(Figures, AreSoundOnlyWithoutDoubleHoldersAndLosses) {
  Figures all;
  EXPECT_TRUE(all.sound());
  all.lost = 1;
  EXPECT_FALSE(all.sound());
  all = {};
  all.double_holders = 1;
  EXPECT_FALSE(all.sound());
}

}  // namespace
}  // namespace tenure::demo
