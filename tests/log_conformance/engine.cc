#include "log_conformance/engine.h"

#include <algorithm>

namespace tenure::conformance {
namespace {

std::vector<TestEngine>& registered() {
  static std::vector<TestEngine> all;
  return all;
}

}  // namespace

RegisteredEngine::RegisteredEngine(TestEngine engine) { registered().push_back(std::move(engine)); }

std::vector<TestEngine> test_engines() {
  std::vector<TestEngine> all = registered();
  std::sort(all.begin(), all.end(), [](const TestEngine& a, const TestEngine& b) { return a.name < b.name; });
  return all;
}

std::vector<TestEngine> test_engines_across_processes() {
  std::vector<TestEngine> some = test_engines();
  std::erase_if(some, [](const TestEngine& engine) { return !engine.across_processes; });
  return some;
}

std::unique_ptr<Log> LogConformance::open(bool read_only) const {
  auto log = open_log(url(), {.pool = "default", .read_only = read_only, .shard = {}});
  EXPECT_TRUE(log) << log.error().message();
  return log ? std::move(*log) : nullptr;
}

}  // namespace tenure::conformance
