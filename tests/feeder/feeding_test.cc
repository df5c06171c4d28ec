// A source feeds a pool: every event becomes a task once, in order per key, through handovers, deaths of nothing but
// the process that reads, full queues, losses, and partitions that are made anew.

#include "feeder/feeding.h"

#include "feeder/spec.h"
#include "machine/limits.h"

namespace tenure::test {
namespace {

// Events of `keys` keys, numbered within each.
std::map<Bytes, std::vector<Bytes>> fill(ScriptedTopic& topic, std::size_t partition, std::size_t events,
                                         std::size_t keys, std::size_t first = 0) {
  std::map<Bytes, std::vector<Bytes>> expected;
  for (std::size_t i = first; i < first + events; ++i) {
    const Bytes key = "p" + std::to_string(partition) + "k" + std::to_string(i % keys);
    const Bytes payload = std::to_string(i);
    topic.add(partition, key, payload);
    expected[key].push_back(payload);
  }
  return expected;
}

TEST_F(Feeding, EveryEventIsDoneOnceInTheOrderOfItsKey) {
  const auto topic = topic_of(3);
  std::map<Bytes, std::vector<Bytes>> expected;
  for (std::size_t partition = 0; partition < 3; ++partition) expected.merge(fill(*topic, partition, 5000, 17));
  Member member(url(), notes_);
  member.work();
  ASSERT_TRUE(member.read(topic));
  ASSERT_TRUE(notes_.wait_count(15'000));
  EXPECT_EQ(notes_.by_key(), expected);
  EXPECT_TRUE(wait_partition("2", [](const SourceInfo& info) { return info.position == 5000 && info.end == 5000; }));
  EXPECT_EQ(partition("1")->tasks, 5000U);
  EXPECT_EQ(partition("1")->lost, 0U);
}

TEST_F(Feeding, WithShardsToo) {
  const auto topic = topic_of(2);
  std::map<Bytes, std::vector<Bytes>> expected;
  for (std::size_t partition = 0; partition < 2; ++partition) expected.merge(fill(*topic, partition, 3000, 17));
  Member member(url(), notes_, {.shards = 3});
  member.work();
  ASSERT_TRUE(member.read(topic));
  ASSERT_TRUE(notes_.wait_count(6'000));
  EXPECT_EQ(notes_.by_key(), expected);
}

// The pool's answer to an event wakes the thread that reads. It must not take that for a source that wakes it for
// nothing, and pause: the next event would wait as long.
TEST_F(Feeding, AnEventIsReadAtOnceThoughOthersCameJustBefore) {
#ifdef TENURE_SANITIZED
  GTEST_SKIP() << "nothing is quick under a sanitizer";
#endif
  constexpr int kEvents = 20;
  constexpr int kRounds = 30;  // a busy machine makes any event slow, but hardly those of all rounds
  const auto topic = topic_of(1);
  Member member(url(), notes_);
  member.work();
  ASSERT_TRUE(member.read(topic));
  const BootClock clock;
  std::size_t added = 0;
  int most = 0;
  for (int round = 0; round < kRounds && most < kEvents * 9 / 10; ++round) {
    int quick = 0;
    for (int i = 0; i < kEvents; ++i) {
      const Instant began = clock.now();
      topic->add(0, "k", std::to_string(++added));
      ASSERT_TRUE(notes_.wait_count(added));
      quick += clock.now() - began < 1ms ? 1 : 0;
      for (const Instant until = clock.now() + 300us; clock.now() < until;) {
        // The answer comes meanwhile.
      }
    }
    most = std::max(most, quick);
  }
  EXPECT_GE(most, kEvents * 9 / 10);
}

// Also of a worker that takes everything: only processes with the source read it.
TEST_F(Feeding, OnlyProcessesWithTheSourceReadIt) {
  const auto topic = topic_of(4);
  const auto expected = fill(*topic, 0, 100, 3);
  Member greedy(url(), notes_);
  class Everything : public Handler {
   public:
    explicit Everything(Notes& notes) : notes_(notes) {}
    Outcome start(Job& job) override {
      notes_.say("took " + job.key());
      return {};
    }
    Outcome run_task(Job& job) override {
      notes_.write(job.key(), job.payload());
      return {};
    }

   private:
    Notes& notes_;
  };
  greedy.pool().add_worker(std::make_shared<Everything>(notes_), {.weight = 10'000}).value();
  Member reader(url(), notes_);
  ASSERT_TRUE(reader.read(topic));
  ASSERT_TRUE(notes_.wait_count(100));
  EXPECT_EQ(notes_.by_key(), expected);
  EXPECT_EQ(notes_.said("took .source"), 0U);
}

TEST_F(Feeding, PartitionsMoveToOtherProcessesAndBack) {
  const auto topic = topic_of(6);
  std::map<Bytes, std::vector<Bytes>> expected;
  Member worker(url(), notes_);
  worker.work();
  auto first = std::make_unique<Member>(url(), notes_);
  ASSERT_TRUE(first->read(topic));
  std::size_t count = 0;
  const auto feed = [&](std::size_t from) {
    for (std::size_t partition = 0; partition < 6; ++partition) {
      for (auto& [key, payloads] : fill(*topic, partition, 500, 5, from)) {
        expected[key].insert(expected[key].end(), payloads.begin(), payloads.end());
      }
      count += 500;
    }
  };
  feed(0);
  ASSERT_TRUE(notes_.wait_count(count / 2));
  Member second(url(), notes_);
  ASSERT_TRUE(second.read(topic));
  feed(500);
  ASSERT_TRUE(notes_.wait_count(count / 2 + 1000));
  ASSERT_TRUE(first->close());
  first.reset();
  feed(1000);
  ASSERT_TRUE(notes_.wait_count(count));
  EXPECT_EQ(notes_.by_key(), expected);
}

TEST_F(Feeding, AFullQueueStopsTheReadingAndLosesNothing) {
  const auto topic = topic_of(2);
  std::map<Bytes, std::vector<Bytes>> expected;
  for (std::size_t partition = 0; partition < 2; ++partition) expected.merge(fill(*topic, partition, 700, 5));
  Member member(url(), notes_, {.max_queued_jobs = 10});
  const Status added = member.read(topic);
  ASSERT_TRUE(added) << added.error().message();
  // One of the two may have got all of the room.
  ASSERT_TRUE(wait_any({"0", "1"}, [](const SourceInfo& info) { return info.tasks != 0; }));
  std::uint32_t queued = 0;
  ASSERT_TRUE(member.shards().look([&](const Machine& machine) { queued += machine.queued(); }, after(kPatience)));
  EXPECT_LE(queued, 10U);
  member.work();
  ASSERT_TRUE(notes_.wait_count(1400));
  EXPECT_EQ(notes_.by_key(), expected);
}

TEST_F(Feeding, EventsWithoutAKeyRunUnderKeysOfTheirOwn) {
  const auto topic = topic_of(1);
  topic->add(0, std::nullopt, "a");
  topic->add(0, "", "b");
  topic->add(0, ".source/topic", "c");
  topic->add(0, "k", "d");
  Member member(url(), notes_);
  member.work();
  ASSERT_TRUE(member.read(topic));
  ASSERT_TRUE(notes_.wait_count(4));
  const std::map<Bytes, std::vector<Bytes>> expected{
      {"topic/0/1", {"a"}}, {"topic/0/2", {"b"}}, {"topic/0/3", {"c"}}, {"k", {"d"}}};
  EXPECT_EQ(notes_.by_key(), expected);
}

TEST_F(Feeding, WithoutOrderEveryEventHasAKeyOfItsOwn) {
  const auto topic = topic_of(1);
  fill(*topic, 0, 10, 1);
  Member member(url(), notes_);
  member.work({.takes = {{.kind = JobKind::task, .type = "mail"}}});
  ASSERT_TRUE(member.read(topic, {.order = SourceOrder::none, .type = "mail"}));
  ASSERT_TRUE(notes_.wait_count(10));
  EXPECT_EQ(notes_.by_key().size(), 10U);
}

// It becomes a dead letter that says why, and the source goes on.
TEST_F(Feeding, AnEventThatNoTaskCanHaveIsADeadLetter) {
  const auto topic = topic_of(1);
  topic->add(0, "k", Bytes(kPayloadBytesMax + 1, 'x'));
  topic->add(0, Bytes(kKeyBytesMax + 1, 'k'), "long key");
  topic->add(0, "k", Bytes(kPayloadBytesMax, 'y'));
  topic->add(0, "k", "last");
  Member member(url(), notes_);
  member.work();
  ASSERT_TRUE(member.read(topic));
  ASSERT_TRUE(notes_.wait_count(2));
  EXPECT_EQ(notes_.by_key().at("k").back(), "last");
  const std::vector<DeadJob> letters = dead();
  ASSERT_EQ(letters.size(), 2U);
  EXPECT_EQ(letters[0].key, "k");
  EXPECT_NE(letters[0].error.find("1048577 bytes"), std::string::npos) << letters[0].error;
  EXPECT_EQ(letters[0].payload, Bytes(64U << 10, 'x'));
  EXPECT_EQ(letters[1].key, "topic/0/2");
  EXPECT_EQ(letters[1].payload, "long key");
  EXPECT_EQ(partition("0")->buried, 2U);
}

TEST_F(Feeding, WhatTheSourceLostIsCountedOnceWithItsRange) {
  const auto topic = topic_of(1);
  fill(*topic, 0, 10, 2);
  Member member(url(), notes_);
  member.work();
  ASSERT_TRUE(member.read(topic));
  ASSERT_TRUE(notes_.wait_count(10));
  ASSERT_TRUE(member.close());
  fill(*topic, 0, 100, 2, 10);
  topic->drop_before(0, 61);
  for (int again = 0; again < 2; ++again) {
    Member next(url(), notes_);
    next.work();
    ASSERT_TRUE(next.read(topic));
    ASSERT_TRUE(notes_.wait_count(60));
    ASSERT_TRUE(wait_partition("0", [](const SourceInfo& info) { return info.position == 110; }));
    ASSERT_TRUE(next.close());
  }
  Member last(url(), notes_);
  const auto info = partition("0");
  EXPECT_EQ(info->lost, 50U);
  EXPECT_EQ(info->lost_first, 11U);
  EXPECT_EQ(info->lost_last, 60U);
  EXPECT_EQ(notes_.count(), 60U);
  EXPECT_TRUE(notes_.wait_log("lost the events at positions 11 to 60 (50)"));
  EXPECT_EQ(notes_.said("lost the events"), 1U);
}

// The positions begin again, below what the pool has.
TEST_F(Feeding, APartitionThatWasMadeAnewIsReadFromItsBeginning) {
  const auto topic = topic_of(1);
  fill(*topic, 0, 100, 2);
  Member member(url(), notes_);
  member.work();
  ASSERT_TRUE(member.read(topic));
  ASSERT_TRUE(notes_.wait_count(100));
  topic->make_anew(0);
  fill(*topic, 0, 40, 2, 1000);
  ASSERT_TRUE(notes_.wait_count(140));
  EXPECT_TRUE(notes_.wait_log("deleted and made again"));
  ASSERT_TRUE(wait_partition("0", [](const SourceInfo& info) { return info.position == 40 && info.end == 40; }));
  EXPECT_EQ(partition("0")->tasks, 140U);
  ASSERT_TRUE(member.close());
  // And the next holder knows which one it is.
  Member next(url(), notes_);
  next.work();
  ASSERT_TRUE(next.read(topic));
  fill(*topic, 0, 5, 2, 2000);
  ASSERT_TRUE(notes_.wait_count(145));
  EXPECT_EQ(notes_.count(), 145U);
}

TEST_F(Feeding, APartitionThatLostItsTailGoesOnBehindItsLastMark) {
  const auto topic = topic_of(1);
  fill(*topic, 0, 100, 2);
  Member member(url(), notes_);
  member.work();
  ASSERT_TRUE(member.read(topic));
  ASSERT_TRUE(notes_.wait_count(100));
  fill(*topic, 0, 50, 2, 100);
  ASSERT_TRUE(notes_.wait_count(150));
  topic->cut_behind(0, 100);
  fill(*topic, 0, 60, 2, 5000);
  ASSERT_TRUE(notes_.wait_count(210));
  EXPECT_EQ(notes_.by_key().at("p0k0").back(), "5058");
  EXPECT_TRUE(notes_.wait_log("lost its last events"));
}

TEST_F(Feeding, NewPartitionsAreFound) {
  const auto topic = topic_of(1);
  Member member(url(), notes_);
  member.work();
  ASSERT_TRUE(member.read(topic));
  fill(*topic, 0, 10, 2);
  ASSERT_TRUE(notes_.wait_count(10));
  topic->grow();
  fill(*topic, 1, 10, 2);
  ASSERT_TRUE(notes_.wait_count(20));
}

// From the newest event on, whoever has begun it, and however long ago.
TEST_F(Feeding, WhereItBeginsIsDecidedOnce) {
  const auto topic = topic_of(1);
  fill(*topic, 0, 100, 2);
  Member worker(url(), notes_);
  worker.work();
  {
    Member member(url(), notes_);
    ASSERT_TRUE(member.read(topic, {.start = "newest"}));
    ASSERT_TRUE(wait_partition("0", [](const SourceInfo& info) { return info.position == 100; }));
    ASSERT_TRUE(member.close());
  }
  fill(*topic, 0, 10, 2, 100);
  Member next(url(), notes_);
  ASSERT_TRUE(next.read(topic, {.start = "newest"}));
  ASSERT_TRUE(notes_.wait_count(10));
  fill(*topic, 0, 1, 2, 110);
  ASSERT_TRUE(notes_.wait_count(11));
  EXPECT_EQ(notes_.by_key().at("p0k0").front(), "100");
}

TEST_F(Feeding, WhatIsTheMatterWithASourceIsSaid) {
  const auto topic = topic_of(1);
  topic->fail_with(Error{Errc::no_such_key, "read topic", "the topic does not exist"});
  Member member(url(), notes_);
  member.work();
  ASSERT_TRUE(member.read(topic));
  ASSERT_TRUE(notes_.wait_log("the topic does not exist"));
  ASSERT_TRUE(wait_partition("", [](const SourceInfo& info) {
    return info.fed && info.name == "topic" && info.trouble.find("does not exist") != std::string::npos;
  }));
  topic->fail_with(std::nullopt);
  fill(*topic, 0, 10, 2);
  ASSERT_TRUE(notes_.wait_count(10));
  topic->fail_with(Error{Errc::unavailable, "read topic", "the broker is away"});
  ASSERT_TRUE(wait_partition("0", [](const SourceInfo& info) { return !info.trouble.empty(); }));
  topic->fail_with(std::nullopt);
  fill(*topic, 0, 10, 2, 10);
  ASSERT_TRUE(notes_.wait_count(20));
  EXPECT_TRUE(wait_partition("0", [](const SourceInfo& info) { return info.trouble.empty(); }));
  EXPECT_TRUE(wait_partition("", [](const SourceInfo& info) { return info.trouble.empty(); }));
}

TEST_F(Feeding, ASourceHasTheOptionsThatItWasAddedWith) {
  const auto topic = topic_of(1);
  Member member(url(), notes_);
  ASSERT_TRUE(member.read(topic, {.type = "a"}));
  EXPECT_EQ(member.read(topic, {.type = "a"}).error().code, Errc::key_exists) << "once in a process";
  Member other(url(), notes_);
  const Status added = other.read(topic, {.start = "newest", .type = "b"});
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Errc::key_exists);
  EXPECT_NE(added.error().context.find("start is 'oldest', not 'newest'; type is 'a', not 'b'"), std::string::npos)
      << added.error().context;
  EXPECT_TRUE(other.read(topic, {.type = "a"}));
}

TEST_F(Feeding, ARemovedSourceStopsEverywhereAndBeginsAnew) {
  const auto topic = topic_of(2);
  fill(*topic, 0, 10, 2);
  Member member(url(), notes_);
  Member other(url(), notes_);
  member.work();
  ASSERT_TRUE(member.read(topic));
  ASSERT_TRUE(other.read(topic));
  ASSERT_TRUE(notes_.wait_count(10));
  ASSERT_TRUE(other.pool().remove_source("topic", after(kPatience)));
  EXPECT_TRUE(sources().empty());
  EXPECT_EQ(other.pool().remove_source("topic", after(kPatience)).error().code, Errc::no_such_key);
  // What another process still has of it is in nobody's way.
  ASSERT_TRUE(other.read(topic, {.start = "newest"}));
  ASSERT_TRUE(wait_partition("0", [](const SourceInfo& info) { return info.position == 10; }));
  fill(*topic, 0, 5, 2, 10);
  ASSERT_TRUE(notes_.wait_count(15));
}

TEST_F(Feeding, NamesOfThePoolItselfAreNotForUsers) {
  Pool pool("feeding", url());
  const auto refused = [](const auto& result) { return !result && result.error().code == Errc::invalid; };
  EXPECT_TRUE(refused(pool.dispatch(".source/topic")));
  EXPECT_TRUE(refused(pool.dispatch_task(".source/topic/0", "x")));
  EXPECT_TRUE(refused(pool.dispatch("k", "", {.type = ".source:topic"})));
  EXPECT_TRUE(refused(pool.stop(".source/topic")));
  EXPECT_TRUE(refused(pool.notify(".source/topic", "x")));
  EXPECT_TRUE(refused(pool.forget_source(".source/topic/0")));
  EXPECT_TRUE(refused(pool.add_worker([](Job&) {}, {.takes = {{.type = ".source:topic"}}})));
  EXPECT_TRUE(refused(pool.add_source({.url = "memory:x?stream=s", .name = "a/b"})));
  EXPECT_TRUE(refused(pool.add_source({.url = "memory:x?stream=s", .type = ".t"})));
  EXPECT_TRUE(refused(pool.add_source({.url = "memory:x"})));
  EXPECT_TRUE(refused(pool.add_source({.url = "memory:x?stream=s&start=soon"})));
}

}  // namespace
}  // namespace tenure::test
