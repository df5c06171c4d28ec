// Runs the log suite for every engine.

#include "log_conformance/engine.h"

namespace tenure::conformance {

namespace {

std::string name_of(const testing::TestParamInfo<TestEngine>& tested) { return tested.param.name; }

}  // namespace

INSTANTIATE_TEST_SUITE_P(Engines, LogConformance, testing::ValuesIn(test_engines()), name_of);
INSTANTIATE_TEST_SUITE_P(Engines, LogAcrossProcesses, testing::ValuesIn(test_engines_across_processes()), name_of);
// A build without SQLite has no such engine.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LogAcrossProcesses);

}  // namespace tenure::conformance
