// Starts that fail: the job goes elsewhere and is never lost, the worker is trusted less, and one that can start
// nothing gets no more keys until it recovers.

#include <gtest/gtest.h>

#include <algorithm>

#include "machine/many_keys.h"

namespace tenure::test {
namespace {

bool unfit(TestPool& pool, BytesView worker) {
  const WorkerIx ix = pool.machine().workers().find(worker);
  return ix != kNone && pool.machine().workers()[ix].fitness.unfit;
}

// Keys that nobody runs now.
int unheld(const TestPool& pool) {
  int count = 0;
  pool.machine().each_job(0, [&](const JobInfo& job) {
    count += job.state != JobState::running ? 1 : 0;
    return true;
  });
  return count;
}

// Workers whose names begin with "bad" start nothing; the others start whatever they are given. One step of everybody
// after another, until nothing happens any more; `look` is called after each.
template <class Look>
void play(TestPool& pool, const Look& look, v1::Failed::Next how = v1::Failed::DROP) {
  for (int step = 0; step < 10'000; ++step) {
    TestPool::Records records;
    pool.machine().each_job(0, [&](const JobInfo& job) {
      const bool bad = job.worker.starts_with("bad");
      if (job.state == JobState::moving) records.push_back(rec::released(job.key, job.epoch));
      if (job.state == JobState::starting) {
        records.push_back(bad ? rec::failed(job.key, job.epoch, how, "no start") : rec::started(job.key, job.epoch));
      }
      return true;
    });
    if (records.empty()) return;
    for (const v1::Record& record : records) {
      pool.append(record);
      look();
    }
  }
  FAIL() << "it never comes to rest";
}

void play(TestPool& pool) {
  play(pool, [] {});
}

TestPool& with_keys(TestPool& pool, int keys) {
  for (int i = 0; i < keys; ++i) pool.resident(key(i));
  pool.settle();
  return pool;
}

TEST(Fitness, AResidentThatHasRunGoesToAnotherWorkerWhenItsStartFails) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t ticket = pool.running("k");
  pool.node("bad", {.serves = {}});
  pool.append(rec::drain("a"));
  pool.released("k");
  ASSERT_EQ(pool.holder("k"), "bad");
  pool.node("b");
  pool.failed("k", v1::Failed::DROP);
  EXPECT_EQ(pool.holder("k"), "b");
  EXPECT_EQ(pool.info("k")->error, "it broke");
  EXPECT_EQ(pool.info("k")->attempt, 1U) << "the worker may have been at fault";
  pool.started("k");
  EXPECT_EQ(pool.state("k"), JobState::running);
  EXPECT_EQ(pool.info("k")->error, "");
  EXPECT_NE(pool.outcome(ticket), TicketState::failed);
}

TEST(Fitness, WhereEveryWorkerFailsItIsTriedAgainWithBackoffAndBuriedAtTheLimit) {
  TestPool pool;
  v1::Configure options;
  options.set_max_attempts(3);
  pool.append(rec::configure(options));
  pool.node("a");
  pool.node("b");
  const std::uint64_t ticket = pool.running("k");
  pool.released("k");
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const Bytes first = pool.holder("k");
    pool.failed("k", v1::Failed::DROP);
    EXPECT_NE(pool.holder("k"), first);
    ASSERT_EQ(pool.state("k"), JobState::starting);
    pool.failed("k", v1::Failed::DROP);
    EXPECT_EQ(pool.state("k"), attempt < 3 ? JobState::waiting : JobState::dead);
    pool.pass(10'000);
  }
  EXPECT_EQ(pool.outcome(ticket), TicketState::failed);
  ASSERT_EQ(pool.machine().dead().size(), 1U);
  EXPECT_EQ(pool.machine().dead().begin()->second.error, "it broke");
}

TEST(Fitness, OneThatIsToBeTriedNoMoreIsBuriedAndNotDropped) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  pool.released("k");
  pool.failed("k", v1::Failed::REFUSE);
  EXPECT_EQ(pool.state("k"), JobState::dead);
}

TEST(Fitness, AResidentThatHasNeverRunFreesItsKey) {
  TestPool pool;
  pool.node("a");
  pool.running("other");
  for (const v1::Failed::Next next : {v1::Failed::DROP, v1::Failed::REFUSE}) {
    const std::uint64_t ticket = pool.resident("k");
    pool.failed("k", next);
    EXPECT_EQ(pool.outcome(ticket), TicketState::failed);
    EXPECT_FALSE(pool.info("k"));
  }
}

// The dispatcher would hear of a failure that is the worker's alone.
TEST(Fitness, AFreshResidentThatFailsOnAWorkerWithoutAnySuccessIsTriedOnOneThatHasSome) {
  TestPool pool;
  pool.node("a");
  with_keys(pool, 20);
  pool.node("bad");
  play(pool);
  int i = 1000;
  while (!unfit(pool, "bad") && pool.holder(key(i)) != "bad") pool.resident(key(++i));
  if (unfit(pool, "bad")) return;  // it had failed with enough of the others
  pool.failed(key(i), v1::Failed::DROP);
  EXPECT_EQ(pool.holder(key(i)), "a");
}

TEST(Fitness, AStartThatEndsAtOnceHasFailed) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  pool.pass(kStartSettleMs);
  pool.released("k");
  pool.node("b");
  const Bytes first = pool.holder("k");
  pool.append(rec::started("k", pool.epoch("k"), true));
  ASSERT_EQ(pool.state("k"), JobState::running);
  pool.failed("k", v1::Failed::RETRY);
  EXPECT_NE(pool.holder("k"), first);
  EXPECT_EQ(pool.state("k"), JobState::starting);
}

TEST(Fitness, OneThatFailsLaterHasNot) {
  TestPool pool;
  pool.node("a");
  pool.node("b");
  pool.running("k");
  pool.pass(kStartSettleMs);
  pool.failed("k", v1::Failed::RETRY);
  EXPECT_EQ(pool.state("k"), JobState::waiting);
  EXPECT_EQ(pool.info("k")->attempt, 2U);
}

// What a worker that can start nothing takes from the others stays small, however many keys would be its share.
TEST(Fitness, ABadWorkerTakesAFewKeysAndIsUnfit) {
  for (const v1::Failed::Next how : {v1::Failed::DROP, v1::Failed::RETRY}) {
    TestPool pool;
    pool.node("a");
    pool.node("b");
    with_keys(pool, 1'000);
    pool.node("bad");
    int most = 0;
    play(pool, [&] { most = std::max(most, unheld(pool)); }, how);
    EXPECT_TRUE(unfit(pool, "bad"));
    EXPECT_LE(most, 8);
    EXPECT_EQ(unheld(pool), 0);
    EXPECT_EQ(pool.machine().keys(), 1'000U);
    EXPECT_TRUE(pool.machine().dead().empty());
  }
}

// The same where a start says nothing: the jobs run for a moment, and end.
TEST(Fitness, AWorkerWhoseJobsEndAtOnceTakesAFewKeysAndIsUnfit) {
  TestPool pool;
  pool.node("a");
  with_keys(pool, 1'000);
  pool.node("bad");
  int most = 0;
  for (int step = 0; step < 1'000; ++step) {
    TestPool::Records records;
    pool.machine().each_job(0, [&](const JobInfo& job) {
      const bool bad = job.worker == "bad";
      if (job.state == JobState::moving) records.push_back(rec::released(job.key, job.epoch));
      if (job.state == JobState::starting) records.push_back(rec::started(job.key, job.epoch, bad));
      if (job.state == JobState::running && bad) records.push_back(rec::failed(job.key, job.epoch));
      return true;
    });
    if (records.empty()) break;
    for (const v1::Record& record : records) pool.append(record);
    most = std::max(most, unheld(pool));
    pool.pass(10);
  }
  EXPECT_TRUE(unfit(pool, "bad"));
  EXPECT_LE(most, 8);
  EXPECT_EQ(unheld(pool), 0);
}

TEST(Fitness, AGoodWorkerIsTrustedWithMoreAfterEachStart) {
  TestPool pool;
  pool.node("a");
  with_keys(pool, 1'000);
  pool.node("b");
  EXPECT_EQ(pool.seen().stops.size(), kStartsFirst);
  const auto moved = [&] {
    TestPool::Records records;
    for (const Recorder::StopAsked& stop : std::vector(pool.seen().stops)) {
      records.push_back(rec::released(stop.tenure.key, stop.tenure.epoch));
    }
    pool.append(records);
    return pool.seen().grants.size();
  };
  EXPECT_EQ(moved(), kStartsFirst);
  pool.settle();
  EXPECT_EQ(unheld(pool), 0);
  EXPECT_FALSE(unfit(pool, "b"));
}

TEST(Fitness, TentativeStartsCountOnceTheyHaveSettled) {
  TestPool pool;
  pool.node("a");
  with_keys(pool, 100);
  pool.node("b");
  const auto start_all = [&] {
    for (int step = 0; step < 100; ++step) {
      TestPool::Records records;
      pool.machine().each_job(0, [&](const JobInfo& job) {
        if (job.state == JobState::moving) records.push_back(rec::released(job.key, job.epoch));
        if (job.state == JobState::starting) records.push_back(rec::started(job.key, job.epoch, true));
        return true;
      });
      if (records.empty()) return;
      pool.append(records);
    }
  };
  const auto on_b = [&] {
    const auto all = holders(pool);
    return std::count_if(all.begin(), all.end(), [](const auto& entry) { return entry.second == "b"; });
  };
  start_all();
  EXPECT_EQ(on_b(), kStartsFirst);
  pool.pass(kStartSettleMs + 1'000);
  start_all();
  EXPECT_GT(on_b(), 20);
  EXPECT_EQ(unheld(pool), 0);
}

TEST(Fitness, OneBadJobMakesNoWorkerUnfit) {
  TestPool pool;
  for (const char* worker : {"a", "b", "c"}) pool.node(worker);
  with_keys(pool, 30);
  pool.running("poor");
  pool.released("poor");
  for (int i = 0; i < 60; ++i) {
    if (pool.state("poor") == JobState::starting) pool.failed("poor", v1::Failed::DROP);
    pool.pass(1'000);
  }
  for (const char* worker : {"a", "b", "c"}) EXPECT_FALSE(unfit(pool, worker));
}

TEST(Fitness, AnUnfitWorkerKeepsWhatRunsThereAndRecoversByAProbe) {
  TestPool pool;
  pool.node("a");
  pool.node("b");
  with_keys(pool, 200);
  const auto before = holders(pool);
  // From here on "b" can start nothing.
  int failed = 0;
  for (int i = 0; !unfit(pool, "b"); ++i) {
    if (before.at(key(i)) != "b") continue;
    pool.released(key(i));
    ++failed;
    pool.failed(key(i), v1::Failed::DROP);
    pool.settle();
  }
  EXPECT_EQ(failed, static_cast<int>(kUnfitAfter));
  const auto kept = holders(pool);
  EXPECT_GT(std::count_if(kept.begin(), kept.end(), [](auto& e) { return e.second == "b"; }), 50);

  for (int i = 1'000; i < 1'020; ++i) {
    pool.resident(key(i));
    EXPECT_EQ(pool.holder(key(i)), "a");
  }
  pool.settle();

  const std::size_t before_probe = pool.history().grants.size();
  pool.pass(kProbeMsMin);
  pool.settle();
  EXPECT_FALSE(unfit(pool, "b"));
  EXPECT_GT(pool.history().grants.size(), before_probe + 1) << "it gets its share again";
  const auto after = holders(pool);
  for (const auto& [name, holder] : before) EXPECT_EQ(after.at(name), holder);
}

TEST(Fitness, AServerThatWasUnfitRecoversByTheKeysItServesAndGetsThemBack) {
  TestPool pool;
  pool.node("a");
  std::vector<Bytes> served;
  for (std::uint32_t i = 0; i < kUnfitAfter; ++i) served.push_back(key(static_cast<int>(i)));
  with_keys(pool, static_cast<int>(kUnfitAfter));
  pool.node("bad", {.serves = served});
  play(pool);
  ASSERT_TRUE(unfit(pool, "bad"));

  // From here on it can start everything.
  for (int i = 0; i < 3 && unfit(pool, "bad"); ++i) {
    pool.pass(kProbeMsMin);
    pool.settle();
  }
  EXPECT_FALSE(unfit(pool, "bad"));
  for (const auto& [name, holder] : holders(pool)) EXPECT_EQ(holder, "bad") << name;
}

TEST(Fitness, ProbesThatFailComeMoreAndMoreSeldomAndCostOneKeyEach) {
  TestPool pool;
  pool.node("a");
  with_keys(pool, 300);
  pool.node("bad");
  play(pool);
  ASSERT_TRUE(unfit(pool, "bad"));
  int most = 0;
  const std::size_t granted = pool.history().grants.size();
  for (int i = 0; i < 600; ++i) {
    pool.pass(1'000);
    play(pool, [&] { most = std::max(most, unheld(pool)); });
  }
  EXPECT_EQ(most, 1);
  const auto probes = (pool.history().grants.size() - granted) / 2;  // each comes back
  EXPECT_GE(probes, 10U);
  EXPECT_LE(probes, 20U);
  EXPECT_TRUE(pool.machine().dead().empty());
  EXPECT_EQ(pool.machine().keys(), 300U);
}

TEST(Fitness, ProbesKeepTheirPauseWhereStartsAreTentative) {
  TestPool pool;
  pool.node("a");
  with_keys(pool, 100);
  pool.node("bad");
  const auto step = [&] {
    for (int i = 0; i < 100; ++i) {
      TestPool::Records records;
      pool.machine().each_job(0, [&](const JobInfo& job) {
        const bool bad = job.worker == "bad";
        if (job.state == JobState::moving) records.push_back(rec::released(job.key, job.epoch));
        if (job.state == JobState::starting) records.push_back(rec::started(job.key, job.epoch, bad));
        if (job.state == JobState::running && bad) records.push_back(rec::failed(job.key, job.epoch));
        return true;
      });
      if (records.empty()) return;
      pool.append(records);
    }
  };
  step();
  ASSERT_TRUE(unfit(pool, "bad"));
  const std::size_t granted = pool.history().grants.size();
  for (int i = 0; i < 60; ++i) {
    pool.pass(1'000);
    step();
  }
  const auto probes = (pool.history().grants.size() - granted) / 2;
  EXPECT_GE(probes, 3U);
  EXPECT_LE(probes, 7U);
}

TEST(Fitness, WhereAllAreUnfitTheKeysWaitAndLoseNoAttempt) {
  TestPool pool;
  const std::uint64_t good = pool.node("a");
  with_keys(pool, 50);
  pool.node("bad1");
  play(pool);
  pool.node("bad2");
  play(pool);
  ASSERT_TRUE(unfit(pool, "bad1"));
  ASSERT_TRUE(unfit(pool, "bad2"));
  pool.leave(good);
  for (int i = 0; i < 300; ++i) {
    pool.pass(1'000);
    play(pool);
  }
  EXPECT_EQ(pool.machine().keys(), 50U);
  EXPECT_TRUE(pool.machine().dead().empty());
  EXPECT_EQ(unheld(pool), 50);
  // One that can do it has them all.
  pool.node("b");
  play(pool);
  EXPECT_EQ(unheld(pool), 0);
  pool.machine().each_job(0, [&](const JobInfo& job) {
    EXPECT_EQ(job.attempt, 1U);
    return true;
  });
}

TEST(Fitness, AWorkerReplacedByAnUnfitOneGoesOnInItsPlace) {
  TestPool pool;
  for (const char* worker : {"a", "b"}) pool.node(worker);
  with_keys(pool, 400);
  const auto before = holders(pool);
  int most = 0;
  const auto look = [&] { most = std::max(most, unheld(pool)); };
  const std::uint64_t bad = pool.node("bad-a", {.replaces = "a"});
  play(pool, look);
  EXPECT_TRUE(unfit(pool, "bad-a"));
  EXPECT_EQ(holders(pool), before);
  EXPECT_LE(most, 8);
  // The good version takes over from the one that stayed.
  const std::uint64_t moves = pool.machine().stats().moves;
  pool.node("a2", {.replaces = "bad-a"});
  play(pool, look);
  pool.leave(bad);
  pool.leave(pool.session_of("a"));
  play(pool, look);
  for (const auto& [name, holder] : holders(pool)) EXPECT_EQ(holder, before.at(name) == "a" ? "a2" : "b");
  EXPECT_EQ(
      pool.machine().stats().moves - moves,
      static_cast<std::uint64_t>(std::count_if(before.begin(), before.end(), [](auto& e) { return e.second == "a"; })));
}

TEST(Fitness, ARolledBackDeployLeavesTheOldWorkerOpen) {
  TestPool pool;
  pool.node("a");
  with_keys(pool, 100);
  const std::uint64_t bad = pool.node("bad", {.replaces = "a"});
  play(pool);
  pool.leave(bad);
  pool.resident("new");
  EXPECT_EQ(pool.holder("new"), "a");
}

// A deploy of a version whose every start fails, over all workers, and then of one that works.
TEST(Fitness, ARollingDeployOfABadVersionCostsAFewStarts) {
  TestPool pool(2);
  const std::vector<Bytes> workers{"a", "b", "c", "d"};
  for (const Bytes& worker : workers) pool.node(worker);
  with_keys(pool, 1'000);
  int most = 0;
  const auto look = [&] { most = std::max(most, unheld(pool)); };
  for (const Bytes& worker : workers) {
    pool.node("bad-" + worker, {.replaces = worker});
    play(pool, look);
    EXPECT_TRUE(unfit(pool, "bad-" + worker));
    pool.pass(3'000);
    play(pool, look);
  }
  EXPECT_LE(most, 8);
  for (const Bytes& worker : workers) {
    pool.node(worker + "2", {.replaces = "bad-" + worker});
    play(pool, look);
    pool.leave(pool.session_of("bad-" + worker));
    pool.leave(pool.session_of(worker));
    play(pool, look);
  }
  EXPECT_EQ(pool.machine().keys(), 1'000U);
  EXPECT_EQ(unheld(pool), 0);
  EXPECT_TRUE(pool.machine().dead().empty());
  EXPECT_EQ(pool.machine(0).digest(), pool.machine(1).digest());
}

// In a shutdown nothing is started any more, so it does not matter that starts fail there.
TEST(Fitness, AnUnfitWorkerDoesTheTasksOfAPoolThatIsShutDown) {
  for (const bool drained : {false, true}) {
    TestPool pool;
    const std::uint64_t good = pool.node("a");
    with_keys(pool, 200);
    pool.node("bad");
    play(pool);
    ASSERT_TRUE(unfit(pool, "bad"));
    if (drained) pool.append(rec::drain("bad"));
    const std::uint64_t task = pool.task("k");
    pool.append(rec::shutdown());
    pool.crash(good);
    EXPECT_EQ(pool.holder("k"), "bad");
    Machine other;
    EXPECT_TRUE(other.restore(save(pool.machine())));
    pool.done("k");
    EXPECT_EQ(pool.outcome(task), TicketState::done);
  }
}

TEST(Fitness, IsKeptInSnapshots) {
  TestPool pool;
  pool.node("a");
  with_keys(pool, 100);
  pool.node("bad", {.replaces = "a"});
  play(pool);
  pool.append(rec::started("none", 1, true));
  ASSERT_TRUE(unfit(pool, "bad"));
  Machine restored;
  ASSERT_TRUE(restored.restore(save(pool.machine())));
  EXPECT_EQ(restored.state_digest(), pool.machine().state_digest());
  EXPECT_EQ(restored.state_bytes(), pool.machine().state_bytes());
  const WorkerIx ix = restored.workers().find("bad");
  EXPECT_TRUE(restored.workers()[ix].fitness.unfit);
  EXPECT_EQ(restored.workers()[ix].fitness.error, "no start");
  EXPECT_FALSE(restored.workers()[restored.workers().find("a")].replaced);
}

}  // namespace
}  // namespace tenure::test
