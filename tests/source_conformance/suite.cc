// Runs the suite for every kind of source.

#include "source_conformance/engine.h"

namespace tenure::conformance {

namespace {

std::string name_of_source(const testing::TestParamInfo<TestSource>& tested) { return tested.param.name; }

}  // namespace

INSTANTIATE_TEST_SUITE_P(Kinds, SourceConformance, testing::ValuesIn(test_sources()), name_of_source);
INSTANTIATE_TEST_SUITE_P(Kinds, SourceAcrossProcesses, testing::ValuesIn(test_sources_across_processes()),
                         name_of_source);
// A build may have no kind whose streams processes share.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SourceAcrossProcesses);

}  // namespace tenure::conformance
