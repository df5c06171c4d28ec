// Waiting, waking, and promise 4: a partition that is not read stops fetching.

#include <fstream>
#include <thread>

#include "source_conformance/engine.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

std::size_t resident_bytes() {
  std::size_t pages = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;
}

TEST_P(SourceConformance, AWaitEndsWithANewEvent) {
  const auto stream = writer();
  Reading reader = reading();
  const BootClock clock;
  for (int i = 0; i < 20; ++i) {
    std::thread adder([&] { add(*stream, {event_of("e" + std::to_string(i))}); });
    const Instant began = clock.now();
    const auto run = reader.next();
    adder.join();
    ASSERT_TRUE(run);
    ASSERT_EQ(reader.events.size(), static_cast<std::size_t>(i) + 1);
    EXPECT_LT(clock.now() - began, 4s) << "the wait ended by itself";
  }
}

TEST_P(SourceConformance, AWaitCanBeWoken) {
  const auto stream = writer();
  Reading reader = reading();
  EXPECT_TRUE(reader.is_quiet());
  const BootClock clock;
  const Instant began = clock.now();
  std::thread waker([&] { reader.source().wake(); });
  // A wake-up that comes before the wait ends it too.
  reader.source().wait(began + kDeadline);
  waker.join();
  EXPECT_LT(clock.now() - began, kDeadline / 2);
}

TEST_P(SourceConformance, AWaitEndsAtItsTime) {
  const auto stream = writer();
  Reading reader = reading();
  EXPECT_TRUE(reader.is_quiet());
  const BootClock clock;
  const Instant began = clock.now();
  // It may end early, but not each time.
  while (clock.now() < began + 100ms) reader.source().wait(began + 100ms);
  EXPECT_LT(clock.now() - began, 10s);
}

TEST_P(SourceConformance, ARemovedStreamIsNoticedInAWait) {
  const auto stream = writer();
  add(*stream, events_of("e", 3));
  Reading reader = reading();
  reader.until(3);
  std::thread remover([&] { EXPECT_TRUE(stream->remove()); });
  EXPECT_FALSE(reader.next());
  remover.join();
  ASSERT_TRUE(reader.error);
  EXPECT_EQ(reader.error->code, Errc::no_such_key);
}

TEST_P(SourceConformance, APartitionThatIsNotReadStopsFetching) {
  if (!GetParam().fetches) GTEST_SKIP() << "nothing is fetched before it is read";
  const auto stream = writer();
  constexpr std::size_t kChunk = 512U << 10;
  for (int i = 0; i < 160; ++i) add(*stream, {event_of(Bytes(kChunk, 'x'))});
  const std::size_t before = resident_bytes();
  Reading reader = reading();
  reader.limits = {.events = 1, .bytes = 1};
  reader.until(1);
  // What is fetched meanwhile was asked for before; a wait of this length would be enough for all of it.
  const Instant until = BootClock().now() + 500ms;
  while (BootClock().now() < until) std::this_thread::yield();
#ifdef TENURE_SANITIZED
  static_cast<void>(before);  // sanitizers keep what was freed, and memory of their own
#else
  EXPECT_LT(resident_bytes(), before + 40 * kChunk);
#endif
  reader.limits = {};
  EXPECT_EQ(reader.until(160).size(), 160U);
}

TEST_P(SourceConformance, AClosedPartitionIsNotRead) {
  const auto stream = writer();
  add(*stream, events_of("e", 3));
  Reading reader = reading();
  reader.until(3);
  reader.source().close("0");
  EXPECT_FALSE(reader.source().read("0", {}));
  ASSERT_TRUE(reader.source().open("0", reader.position, {}));
  add(*stream, {event_of("new")});
  EXPECT_EQ(reader.until(4).back().payload, "new");
}

TEST_P(SourceConformance, AReaderMayWaitForAStreamThatIsNotThere) {
  auto opened = source::open_source(url());
  if (!opened) GTEST_SKIP() << "a source is opened once it is there";
  Reading reader(*std::move(opened));
  if (!reader.source().open("0", 0, {})) GTEST_SKIP() << "a partition is opened once it is there";
  EXPECT_FALSE(reader.next(50ms));
  const auto stream = writer();
  add(*stream, events_of("e", 2));
  while (reader.events.size() < 2 && (reader.next() || reader.error->code == Errc::no_such_key)) {
  }
  EXPECT_EQ(payloads(reader.events), (std::vector<std::string>{"e0", "e1"}));
}

}  // namespace
}  // namespace tenure::conformance
