// Programs whose answers never end: a caller waits no longer for an endless answer than for a missing one.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <tenure/checkout_process.hpp>

namespace tenure {
namespace {

using namespace std::chrono_literals;

class Babble : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() { setenv("TENURE_GUARD", TENURE_GUARD, 1); }
};

TEST_P(Babble, EndsWithTheCallersPatience) {
  for (const bool streaming : {false, true}) {
    ProcessOptions options;
    options.command = {PROCESS_CHILD};
    auto worker = ProcessWorker::start(options).value();
    const auto begun = std::chrono::steady_clock::now();
    const Error error = streaming ? worker->call_streaming(
                                              GetParam(), [](std::string_view) {}, 300ms)
                                        .error()
                                  : worker->call(GetParam(), 300ms).error();
    EXPECT_TRUE(error.code == Errc::timed_out || error.code == Errc::corrupt) << error.message();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 15s);
  }
}

// Parts with something in them come to an end by the bound of an answer, if it is gathered.
INSTANTIATE_TEST_SUITE_P(Empty, Babble, testing::Values("babble", "babble something"));

}  // namespace
}  // namespace tenure
