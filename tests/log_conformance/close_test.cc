// Closing: fast with any outstanding call, and the end of all callbacks. And the cost of waiting.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>

#include "log_conformance/engine.h"
#include "log_conformance/waiting.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

std::chrono::nanoseconds span_of(const std::function<void()>& act) {
  const auto started = std::chrono::steady_clock::now();
  act();
  return std::chrono::steady_clock::now() - started;
}

std::chrono::microseconds process_cpu() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

// Well below any polling interval of an engine.
TEST_P(LogConformance, CloseEndsAWaitingReadPromptlyAndDestroysItUnrun) {
  const auto log = open();
  Answer<Result<std::vector<Entry>>> waiting;
  log->read({}, waiting.callback());
  EXPECT_FALSE(waiting.ready_within(20ms));
  EXPECT_LT(span_of([&] { log->close(); }), 300ms);
  EXPECT_EQ(code_of(waiting.get()), Errc::closed);
}

TEST_P(LogConformance, AfterCloseNoCallbackRunsAndAllAreDestroyed) {
  for (int round = 0; round < 20; ++round) {
    const auto keeper = open();  // the log is still written after the other handle is closed
    const auto log = open();
    const auto alive = std::make_shared<int>(0);
    std::atomic<bool> closed = false;
    std::atomic<int> late = 0;
    for (int i = 0; i < 300; ++i) {
      log->append(Lane::data, "x", [&, alive](const Result<Position>&) { late += closed ? 1 : 0; });
    }
    log->trim(1, [&, alive](const Status&) { late += closed ? 1 : 0; });
    log->read({}, [&, alive](const Result<std::vector<Entry>>&) { late += closed ? 1 : 0; });
    log->close();
    closed = true;
    EXPECT_EQ(alive.use_count(), 1);
    ASSERT_TRUE(append(*keeper, "y"));
    EXPECT_EQ(late, 0);
  }
}

TEST_P(LogConformance, CloseMayBeRepeatedAndCallsAfterItAreDestroyedUnrun) {
  const auto log = open();
  log->close();
  log->close();
  const auto alive = std::make_shared<int>(0);
  log->append(Lane::beat, "x", [alive](const Result<Position>&) { FAIL(); });
  log->read({}, [alive](const Result<std::vector<Entry>>&) { FAIL(); });
  log->load_snapshot([alive](const Result<Snapshot>&) { FAIL(); });
  log->trim(1, [alive](const Status&) { FAIL(); });
  log->begin_snapshot({})->commit([alive](const Status&) { FAIL(); });
  EXPECT_EQ(alive.use_count(), 1);
}

// The callback waits for the call to return, which would never end if it ran inside the call.
TEST_P(LogConformance, CallbacksRunOutsideTheCallThatHandedThemOver) {
  const auto log = open();
  std::promise<void> returned;
  const auto has_returned = returned.get_future().share();
  Answer<Result<Position>> answer;
  log->append(Lane::data, "x", [has_returned, callback = answer.callback()](Result<Position> position) {
    EXPECT_EQ(has_returned.wait_for(kDeadline), std::future_status::ready);
    callback(std::move(position));
  });
  returned.set_value();
  EXPECT_TRUE(answer.get());
}

// A node reads on, and appends, from within its callbacks.
TEST_P(LogConformance, CallbacksMayCallTheLog) {
  const auto log = open();
  constexpr int kSteps = 50;
  Answer<Status> finished;
  std::function<void(Cursor, int)> step = [&, done = finished.callback()](Cursor after, int left) {
    log->append(Lane::data, std::to_string(left), [](const Result<Position>&) {});
    log->read(after, [&, done, left](Result<std::vector<Entry>> run) {
      if (!run) return done(Failure(run.error()));
      if (left == 0) return done(Status());
      step(Cursor::at(run->back()), left - 1);
    });
  };
  step({}, kSteps);
  EXPECT_TRUE(finished.get());
  log->close();
}

// One second of a pool in which nothing happens, with a reader waiting.
TEST_P(LogConformance, AWaitingReaderCostsNoCpu) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "x"));
  const auto run = read(*log, {});
  ASSERT_TRUE(run);
  Answer<Result<std::vector<Entry>>> waiting;
  log->read(Cursor::at(run->front()), waiting.callback());
  const auto before = process_cpu();
  EXPECT_FALSE(waiting.ready_within(1s));
  EXPECT_LT(process_cpu() - before, 20ms);
  log->close();
}

}  // namespace
}  // namespace tenure::conformance
