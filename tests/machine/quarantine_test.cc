// A job that kills its holder repeatedly is set aside. Jobs that merely ran beside it are not.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "machine/pool.h"

namespace tenure::test {
namespace {

// Runs the pool as its workers would: granted jobs start, tasks are done after a while, and the holder of the poisonous
// key dies `fuse_ms` after it got it, and comes back. Each of `processes` has its own workers.
class PoisonedPool {
 public:
  PoisonedPool(std::vector<std::vector<Bytes>> processes, Bytes poison, std::int64_t fuse_ms)
      : processes_(std::move(processes)), poison_(std::move(poison)), fuse_ms_(fuse_ms) {
    for (const auto& workers : processes_) start(workers);
  }

  TestPool& pool() { return pool_; }
  int deaths() const { return deaths_; }
  const std::set<Bytes>& done() const { return done_; }

  void run(std::int64_t ms) {
    for (std::int64_t at = 0; at < ms; at += 100) {
      pool_.pass(100);
      step();
    }
  }

 private:
  void start(const std::vector<Bytes>& workers) {
    const std::uint64_t session = pool_.join();
    for (const Bytes& worker : workers) pool_.append(rec::add_worker(session, worker));
  }

  void step() {
    TestPool::Records records;
    Bytes killed;
    pool_.machine().each_job(0, [&](const JobInfo& job) {
      const std::int64_t age = pool_.machine().log_time_ms() - job.since_ms;
      if (job.state == JobState::starting) records.push_back(rec::started(job.key, job.epoch));
      if (job.state == JobState::moving) records.push_back(rec::released(job.key, job.epoch));
      if (job.key == poison_ && job.state == JobState::running && age >= fuse_ms_) killed = job.worker;
      if (job.key != poison_ && job.kind == JobKind::task && job.state == JobState::running && age >= 1'000) {
        records.push_back(rec::done(job.key, job.epoch));
        done_.insert(Bytes(job.key));
      }
      return true;
    });
    if (!killed.empty()) {
      ++deaths_;
      pool_.crash(pool_.session_of(killed));
      for (const auto& workers : processes_) {
        if (std::find(workers.begin(), workers.end(), killed) != workers.end()) start(workers);
      }
    } else if (!records.empty()) {
      pool_.append(records);
    }
  }

  TestPool pool_;
  std::vector<std::vector<Bytes>> processes_;
  Bytes poison_;
  std::int64_t fuse_ms_;
  int deaths_ = 0;
  std::set<Bytes> done_;
};

std::set<Bytes> quarantined(const TestPool& pool) {
  std::set<Bytes> keys;
  for (const Recorder::Buried& burial : pool.history().burials) {
    if (burial.quarantined) keys.insert(burial.key);
  }
  return keys;
}

void poison_task_among_tasks(const std::vector<std::vector<Bytes>>& processes) {
  PoisonedPool run(processes, "poison", 200);
  for (int i = 0; i < 15; ++i) run.pool().task("before" + std::to_string(i));
  const std::uint64_t ticket = run.pool().task("poison");
  for (int i = 0; i < 15; ++i) run.pool().task("behind" + std::to_string(i));
  run.run(60'000);
  EXPECT_EQ(quarantined(run.pool()), std::set<Bytes>{"poison"});
  EXPECT_EQ(run.deaths(), 3);
  EXPECT_EQ(run.done().size(), 30U);
  EXPECT_EQ(run.pool().outcome(ticket), TicketState::failed);
  EXPECT_EQ(run.pool().machine().keys(), 0U);
}

TEST(Quarantine, APoisonTaskIsFoundAmongItsNeighboursOnOneWorker) { poison_task_among_tasks({{"a"}}); }

TEST(Quarantine, APoisonTaskIsFoundWhereEveryWorkerIsAProcess) { poison_task_among_tasks({{"a"}, {"b"}, {"c"}}); }

// A process takes all its workers with it: the innocents of the other workers die as often as the culprit.
TEST(Quarantine, APoisonTaskIsFoundWhereAProcessHasSeveralWorkers) {
  poison_task_among_tasks({{"a1", "a2", "a3"}, {"b1", "b2"}});
}

void poison_resident_among_residents(const std::vector<std::vector<Bytes>>& processes, std::int64_t fuse_ms = 500,
                                     std::int64_t run_ms = 120'000) {
  PoisonedPool run(processes, "poison", fuse_ms);
  for (int i = 0; i < 10; ++i) run.pool().resident("before" + std::to_string(i));
  run.pool().resident("poison");
  for (int i = 0; i < 10; ++i) run.pool().resident("behind" + std::to_string(i));
  run.run(run_ms);
  EXPECT_EQ(quarantined(run.pool()), std::set<Bytes>{"poison"});
  EXPECT_EQ(run.deaths(), 3);
  EXPECT_EQ(run.pool().state("poison"), JobState::quarantined);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(run.pool().state("before" + std::to_string(i)), JobState::running);
    EXPECT_EQ(run.pool().state("behind" + std::to_string(i)), JobState::running);
  }
}

TEST(Quarantine, APoisonResidentIsFoundAmongItsNeighbours) {
  poison_resident_among_residents({{"a"}});
  poison_resident_among_residents({{"a"}, {"b"}});
}

TEST(Quarantine, APoisonResidentIsFoundWhereAProcessHasSeveralWorkers) {
  poison_resident_among_residents({{"a1", "a2"}, {"b1", "b2"}});
}

// It kills its holder later than kSoloMs after its start, and earlier than kYouthMs: alone for kSoloMs it is harmless.
TEST(Quarantine, APoisonResidentThatTakesItsTimeIsFoundToo) {
  for (const std::int64_t fuse_ms : {3'000, 10'000, 25'000}) {
    SCOPED_TRACE(fuse_ms);
    poison_resident_among_residents({{"a"}}, fuse_ms, 1'200'000);
    PoisonedPool alone({{"a"}}, "poison", fuse_ms);
    alone.pool().resident("poison");
    alone.run(300'000);
    EXPECT_EQ(alone.deaths(), 3);
    ASSERT_EQ(alone.pool().machine().dead().size(), 1U);
    EXPECT_NE(alone.pool().machine().dead().begin()->second.error.find("3 times"), Bytes::npos);
  }
}

void set_limit(TestPool& pool, std::uint32_t deaths) {
  v1::Configure options;
  options.set_quarantine_after_plus_one(deaths + 1);
  pool.append(rec::configure(options));
}

TEST(Quarantine, TheLetterSaysWhyAndARetryStartsAfresh) {
  TestPool pool;
  set_limit(pool, 2);
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t session = pool.node("a");
    if (!pool.info("k")) pool.task("k");
    pool.crash(session);
  }
  ASSERT_EQ(pool.machine().dead().size(), 1U);
  const auto& [id, letter] = *pool.machine().dead().begin();
  EXPECT_TRUE(letter.quarantined);
  EXPECT_NE(letter.error.find("2 times"), Bytes::npos);
  const std::uint64_t retried = id;
  const std::uint64_t session = pool.node("a");
  pool.retry_dead(retried);
  pool.crash(session);
  EXPECT_TRUE(pool.machine().dead().empty()) << "one death is not two";
}

TEST(Quarantine, ALeaveOrAFenceNeverBlames) {
  for (const auto reason : {v1::End::LEFT, v1::End::FENCED}) {
    TestPool pool;
    set_limit(pool, 1);
    pool.node("z", {.serves = {"other"}});
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t session = pool.node("a", {.serves = {"k", "t"}});
      if (!pool.info("k")) {
        pool.running("k");
        pool.task("t");
      }
      pool.append(rec::end(session, reason));
    }
    EXPECT_TRUE(pool.history().burials.empty());
  }
}

TEST(Quarantine, ARemovedWorkerNeverBlames) {
  TestPool pool;
  set_limit(pool, 1);
  const std::uint64_t session = pool.node("a");
  pool.running("k");
  pool.append(rec::remove_worker(session, "a"));
  EXPECT_TRUE(pool.history().burials.empty());
}

TEST(Quarantine, AResidentThatHasRunForLongIsNotToBlame) {
  TestPool pool;
  set_limit(pool, 1);
  const std::uint64_t session = pool.node("a");
  pool.running("old");
  pool.pass(kYouthMs);
  pool.running("young");
  pool.crash(session);
  EXPECT_EQ(quarantined(pool), std::set<Bytes>{"young"});
  EXPECT_EQ(pool.state("old"), JobState::queued);
}

// Being asked to move or to stop does not make a job young again.
TEST(Quarantine, AResidentThatHasRunForLongIsNotToBlameWhileItMoves) {
  TestPool pool;
  set_limit(pool, 1);
  const std::uint64_t session = pool.node("a");
  pool.running("old");
  pool.pass(kYouthMs);
  pool.append(rec::drain("a"));
  ASSERT_EQ(pool.state("old"), JobState::moving);
  pool.crash(session);
  EXPECT_TRUE(pool.history().burials.empty());
  EXPECT_EQ(pool.state("old"), JobState::queued);
}

TEST(Quarantine, DeathsFarApartDoNotAddUp) {
  TestPool pool;
  set_limit(pool, 2);
  pool.resident("k");
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t session = pool.node("a");
    pool.started("k");
    if (i % 2 == 1) pool.pass(kYouthMs + kSoloMs);
    pool.crash(session);
  }
  EXPECT_TRUE(pool.history().burials.empty());
}

TEST(Quarantine, ZeroMeansNever) {
  TestPool pool;
  set_limit(pool, 0);
  pool.task("k");
  for (int i = 0; i < 20; ++i) pool.crash(pool.node("a"));
  EXPECT_TRUE(pool.history().burials.empty());
}

// A worker runs one job on its last chance at a time, and other work beside it.
TEST(Quarantine, LastChancesRunOneAtATime) {
  TestPool pool;
  set_limit(pool, 2);
  for (const char* key : {"k1", "k2", "k3"}) pool.task(key);
  pool.crash(pool.node("a"));
  pool.node("a");
  EXPECT_EQ(pool.seen().granted_keys(), std::vector<Bytes>{"k1"});
  pool.task("fresh");
  EXPECT_EQ(pool.holder("fresh"), "a");
  pool.done("k1");
  EXPECT_EQ(pool.seen().granted_keys(), std::vector<Bytes>{"k2"});
  const std::uint64_t session = pool.session_of("a");
  pool.crash(session);
  EXPECT_EQ(quarantined(pool), std::set<Bytes>{"k2"});
}

// A process that has died twice with very many young keys does not keep them away for days: they are tried together,
// and the one that kills is found all the same, at the price of a few more deaths.
TEST(Quarantine, VeryManySuspectsAreTriedTogether) {
  PoisonedPool run({{"a"}, {"b"}}, "poison", 500);
  constexpr int kNeighbours = 1'600;
  v1::Record roomy;
  roomy.mutable_configure()->set_max_queued_jobs(kNeighbours + 1);
  run.pool().append(roomy);
  for (int i = 0; i < kNeighbours / 2; ++i) run.pool().resident("before" + std::to_string(i));
  run.pool().resident("poison");
  for (int i = 0; i < kNeighbours / 2; ++i) run.pool().resident("behind" + std::to_string(i));
  run.run(300'000);
  EXPECT_EQ(quarantined(run.pool()), std::set<Bytes>{"poison"});
  EXPECT_LE(run.deaths(), 12);
  int running = 0;
  run.pool().machine().each_job(0, [&](const JobInfo& job) {
    running += job.state == JobState::running ? 1 : 0;
    return true;
  });
  EXPECT_EQ(running, kNeighbours);
}

// Suspects that together are too much for a process, and harmless alone, are found harmless: ever fewer are tried.
TEST(Quarantine, SuspectsThatKillTogetherAreTriedByFewer) {
  TestPool pool;
  set_limit(pool, 2);
  constexpr std::size_t kMany = kTrialShare * 8;
  for (std::size_t i = 0; i < kMany; ++i) pool.resident("k" + std::to_string(i));
  pool.crash(pool.node("a"));
  const auto held = [&] {
    int count = 0;
    pool.machine().each_job(0, [&](const JobInfo& job) {
      count += job.worker.empty() ? 0 : 1;
      return true;
    });
    return count;
  };
  int deaths = 0;
  int before = static_cast<int>(kMany);
  for (pool.node("a"); held() > 1; pool.node("a"), ++deaths) {
    EXPECT_LT(held(), before);
    before = held();
    pool.crash(pool.session_of("a"));
  }
  EXPECT_GE(deaths, 2);
  EXPECT_LE(deaths, 8);
  EXPECT_TRUE(quarantined(pool).empty());
  for (std::size_t i = 0; i < kMany * 2; ++i) {
    pool.pass(kSoloMs);
    pool.settle();
  }
  for (std::size_t i = 0; i < kMany; ++i) EXPECT_EQ(pool.state("k" + std::to_string(i)), JobState::running);
}

// A change of the limit turns queued jobs into last chances, or back, and must not tie up the lane.
TEST(Quarantine, TheLimitMayChangeWhileJobsWait) {
  TestPool pool;
  set_limit(pool, 3);
  for (const char* key : {"k1", "k2", "k3"}) pool.resident(key);
  pool.crash(pool.node("a"));
  set_limit(pool, 2);
  pool.node("a");
  pool.settle();
  set_limit(pool, 5);
  pool.pass(kSoloMs * 4);
  for (const char* key : {"k1", "k2", "k3"}) EXPECT_EQ(pool.holder(key), "a");
  pool.settle();
  for (const char* key : {"k1", "k2", "k3"}) EXPECT_EQ(pool.state(key), JobState::running);
  pool.pass(kSoloMs * 2);
  EXPECT_EQ(image_of(pool.machine()).global.keys().workers(0).on_trial(), 0U);
}

}  // namespace
}  // namespace tenure::test
