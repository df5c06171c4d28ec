// PoolOptions::guard: what happens where `tenure-guard` cannot be started. With one, e2e.crash has processes that die.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <tenure/tenure.hpp>

namespace tenure {
namespace {

class GuardOption : public testing::Test {
 protected:
  GuardOption() { setenv("TENURE_GUARD", (folder_ / "nothing-here").c_str(), 1); }
  ~GuardOption() override { std::filesystem::remove_all(folder_); }

  // Whether a worker could be added to a pool of the engine.
  Status add_worker(const std::string& url, Guard guard) {
    PoolOptions options;
    options.guard = guard;
    Result<Pool> pool = Pool::open("guarded", url, options);
    if (!pool) return Failure(pool.error());
    const auto added = pool->add_worker([](Job&) {}, {.id = "a"});
    return added ? Status() : Status(Failure(added.error()));
  }
  std::string file() const { return "sqlite:" + (folder_ / "pool.db").string() + "?sync=off"; }

 private:
  static std::filesystem::path new_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tenure-guard-XXXXXX").string();
    return mkdtemp(name.data());
  }
  const std::filesystem::path folder_ = new_folder();
};

TEST_F(GuardOption, OnNeedsTheProgram) {
  const Status added = add_worker(file(), Guard::on);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Errc::unavailable);
  EXPECT_NE(added.error().message().find("guard"), std::string::npos) << added.error().message();
}

TEST_F(GuardOption, AutomaticGoesOnWithoutIt) { EXPECT_TRUE(add_worker(file(), Guard::automatic)); }

TEST_F(GuardOption, OffNeedsNothing) { EXPECT_TRUE(add_worker(file(), Guard::off)); }

TEST_F(GuardOption, MemoryNeedsNone) { EXPECT_TRUE(add_worker("memory:guarded", Guard::on)); }

}  // namespace
}  // namespace tenure
