// The parts of a feeder: what its residents agree on, what it leaves for its successor, and how events become tasks.

#include <gtest/gtest.h>

#include "feeder/batch.h"
#include "feeder/queue_room.h"
#include "feeder/scripted_source.h"
#include "feeder/spec.h"
#include "feeder/state.h"
#include "feeder/to_task.h"
#include "machine/limits.h"
#include "source/feeder_url.h"

namespace tenure::feeder {
namespace {

TEST(FeederSpec, TravelsAsAPayload) {
  const Spec spec{
      .name = "n", .kind = "kafka", .stream = "t", .start = "newest", .by_key = false, .type = "x", .max_attempts = 3};
  EXPECT_EQ(read_spec(spec.payload()), spec);
  EXPECT_EQ(read_spec("\xff\xff"), std::nullopt);
  Spec other = spec;
  other.by_key = true;
  EXPECT_EQ(difference(spec, other), "order is 'none', not 'key'");
}

TEST(FeederSpec, KeysAndTypesDiffer) {
  Spec spec{.name = Bytes(100, 'a'), .kind = {}, .stream = {}};
  const Bytes type = spec.resident_type();
  EXPECT_EQ(type.size(), kTypeBytesMax);
  EXPECT_TRUE(type.starts_with(".source:a"));
  spec.start = "newest";
  EXPECT_NE(spec.resident_type(), type);
  const auto key = read_own_key(".source/orders/7~2-ab");
  ASSERT_TRUE(key);
  EXPECT_EQ(key->name, "orders");
  EXPECT_EQ(key->partition, "7");
  EXPECT_EQ(number_of(key->generation), 2U);
  EXPECT_EQ(read_own_key(".source/orders")->partition, "");
  EXPECT_FALSE(read_own_key("orders/7"));
}

TEST(FeederState, ANewGenerationHasANameThatWasNeverThere) {
  FeedState state(".source/t/0", std::nullopt);
  EXPECT_FALSE(state.begun());
  EXPECT_EQ(state.sequence(), ".source/t/0");
  state.begin(5);
  state.add_mark({7, 70});
  state.add_mark({9, 90});
  state.renew(8, true, 0x1234567890abcdefULL);
  EXPECT_EQ(state.old_sequence(), ".source/t/0");
  EXPECT_EQ(state.sequence(), ".source/t/0~1-12345678");
  EXPECT_EQ(state.marks_up_to(100), (std::vector<source::Mark>{{7, 70}}));
  const FeedState next(".source/t/0", state.encode());
  EXPECT_EQ(next.sequence(), state.sequence());
  EXPECT_EQ(next.base(), 8U);
  EXPECT_TRUE(next.begun());
  EXPECT_EQ(next.old_sequence(), ".source/t/0");
  EXPECT_EQ(next.marks_up_to(100), state.marks_up_to(100));
}

// A few, which lie the farther apart the older they are.
TEST(FeederState, MarksAreFewAndTheNewestIsAmongThem) {
  FeedState state("s", std::nullopt);
  for (std::uint64_t position = 1; position <= 10'000; ++position) state.add_mark({position, position});
  const std::vector<source::Mark> marks = state.marks_up_to(UINT64_MAX);
  EXPECT_EQ(marks.size(), kMarksMax);
  EXPECT_EQ(marks.front().position, 1U);
  EXPECT_EQ(marks.back().position, 10'000U);
  EXPECT_GT(marks[kMarksMax - 2].position, 9'900U);
  for (std::size_t i = 2; i + 1 < marks.size(); ++i) {
    EXPECT_LE(marks[i + 1].position - marks[i].position, marks[i].position - marks[i - 1].position);
  }
}

source::Run run_of(std::uint64_t first, std::size_t count, std::size_t bytes = 1) {
  source::Run run;
  for (std::size_t i = 0; i < count; ++i) {
    source::Event event;
    event.position = first + i;
    event.key = "k";
    event.payload = Bytes(bytes, 'p');
    run.events.push_back(std::move(event));
  }
  run.position = first + count - 1;
  return run;
}

TEST(FeederBatch, IsCutAtTheLimitsOfAnEmit) {
  const Spec spec{.name = "n", .kind = {}, .stream = {}};
  test::ScriptedSource names(std::make_shared<test::ScriptedTopic>(1));
  Batch batch(spec, names, "n/0/");
  batch.start(0, 0);
  EXPECT_TRUE(batch.empty());
  batch.add(run_of(1, 10, kEmitBytesMax / 4));
  EXPECT_EQ(batch.fitting(100, nullptr), 3U);
  const auto first = batch.cut(3);
  EXPECT_EQ(first->position, 3U);
  EXPECT_EQ(first->tasks.size(), 3U);
  EXPECT_EQ(batch.size(), 7U);
  EXPECT_EQ(batch.cut_mark()->position, first->position) << "of the last event that is emitted";
  batch.put_back(std::move(*first));
  EXPECT_EQ(batch.size(), 10U);
  EXPECT_EQ(batch.fitting(2, nullptr), 2U);
  EXPECT_EQ(batch.fitting(9, [](const EmitTask& task) { return task.position < 2; }), 1U);
}

TEST(FeederBatch, TheLastEmissionSaysThePositionBehindIt) {
  const Spec spec{.name = "n", .kind = {}, .stream = {}};
  test::ScriptedSource names(std::make_shared<test::ScriptedTopic>(1));
  Batch batch(spec, names, "n/0/");
  batch.start(4, 4);
  source::Run run = run_of(6, 2);
  run.position = 9;
  run.lost = source::Loss{5, 5, 1};
  batch.add(std::move(run));
  ASSERT_TRUE(batch.has_loss());
  const auto all = batch.cut(2);
  EXPECT_EQ(all->position, 9U);
  ASSERT_TRUE(all->report.lost);
  EXPECT_EQ(all->report.lost->count, 1U);
  EXPECT_TRUE(batch.empty());
  ASSERT_TRUE(batch.cut_mark());
  EXPECT_EQ(batch.cut_mark()->position, 7U);
}

TEST(QueueRoom, CountsWhatIsOnItsWayAndWakesOnceThereIsEnough) {
  QueueRoom room;
  room.set_shards(2);
  EXPECT_EQ(room.room(0), UINT32_MAX) << "nothing is known";
  int woken = 0;
  room.add_waiter(&woken, [&] { ++woken; });
  room.note(0, 30, 40);
  room.note(1, 0, 40);
  EXPECT_EQ(room.room(0), 10U);
  room.sent(0, 8);
  EXPECT_EQ(room.room(0), 2U);
  EXPECT_EQ(room.room(1), 40U);
  EXPECT_EQ(woken, 0) << "nobody has asked";
  room.want();
  room.note(0, 30, 40);
  EXPECT_EQ(woken, 0) << "a quarter has to be free";
  room.answered(0, 8);
  room.note(0, 30, 40);
  room.note(0, 20, 40);
  EXPECT_EQ(woken, 1) << "once for each wish";
  room.remove_waiter(&woken);
  room.want();
  room.note(0, 0, 40);
  EXPECT_EQ(woken, 1);
}

TEST(FeederUrl, OptionsOfTheFeederAreTakenOut) {
  const auto url = source::read_feeder_url("memory:x?stream=a%2Fb&order=none&x=y&start=newest&type=mail");
  ASSERT_TRUE(url) << url.error().message();
  EXPECT_EQ(url->url, "memory:x?stream=a%2Fb&x=y");
  EXPECT_EQ(url->stream, "a/b");
  EXPECT_EQ(url->name, "a.b");
  EXPECT_EQ(url->by_key, false);
  EXPECT_EQ(url->start, "newest");
  EXPECT_EQ(url->type, "mail");
  EXPECT_EQ(source::read_feeder_url("memory:x?stream=a&name=b")->name, "b");
  for (const char* wrong : {"memory:x", "memory:x?stream=a&order=some", "memory:x?stream=a&start=soon", "nothing:x"}) {
    EXPECT_FALSE(source::read_feeder_url(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace tenure::feeder
