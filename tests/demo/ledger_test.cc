// The ledger refuses writes with an old epoch, and its journal contains everything that it accepted.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "demo/ledger.h"

namespace tenure::demo {
namespace {

class LedgerTest : public testing::Test {
 protected:
  LedgerTest() {
    char path[] = "/tmp/tenure-ledger-XXXXXX";
    folder_ = mkdtemp(path);
    ledger_ = Ledger::create(folder_ + "/ledger.db", {"a", "b"}).value();
  }
  ~LedgerTest() override {
    ledger_.reset();
    std::filesystem::remove_all(folder_);
  }

  bool tick(const std::string& worker, std::uint64_t epoch, std::uint64_t number) {
    std::vector<TickWrite> writes = {{"a", epoch, number, false}};
    ledger_->write(writes, worker).value();
    return writes[0].taken;
  }

  std::string folder_;
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(LedgerTest, GoesOnWhereTheLastHolderWas) {
  EXPECT_EQ(ledger_->begin("a", 10, "w1", {}).value(), 0U);
  EXPECT_TRUE(tick("w1", 10, 1));
  EXPECT_TRUE(tick("w1", 10, 2));
  EXPECT_EQ(ledger_->begin("a", 20, "w2", {}).value(), 2U);
}

TEST_F(LedgerTest, RefusesAnOldEpochAndTellsWhichItHas) {
  ledger_->begin("a", 10, "w1", {}).value();
  ledger_->begin("a", 20, "w2", {}).value();
  EXPECT_FALSE(tick("w1", 10, 1));
  EXPECT_FALSE(ledger_->begin("a", 15, "w3", {}).value().has_value());
  EXPECT_TRUE(tick("w2", 20, 1));

  const std::vector<JournalLine> lines = ledger_->journal_after(0).value();
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[2].what, JournalLine::What::refused);
  EXPECT_EQ(lines[2].worker, "w1");
  EXPECT_EQ(lines[2].epoch, 10U);
  EXPECT_EQ(lines[2].value, 20U);
  EXPECT_EQ(lines[3].what, JournalLine::What::refused);
  EXPECT_EQ(lines[4].what, JournalLine::What::tick);
  EXPECT_EQ(ledger_->tenants().value()[0].ticks, 1U);
}

TEST_F(LedgerTest, KeepsItsNumbersWhenTheJournalIsDropped) {
  ledger_->begin("a", 10, "w1", {}).value();
  const std::int64_t last = ledger_->journal_after(0).value().back().id;
  ledger_->drop_journal_up_to(last).value();
  EXPECT_TRUE(tick("w1", 10, 1));
  const std::vector<JournalLine> lines = ledger_->journal_after(last).value();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_GT(lines[0].id, last);
}

}  // namespace
}  // namespace tenure::demo
