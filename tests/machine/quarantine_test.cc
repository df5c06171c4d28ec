// A job that crashes its process time and again is set aside. What merely ran beside it is not, and is never kept
// waiting.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "machine/pool.h"

namespace tenure::test {
namespace {

enum class Told : std::uint8_t { evidence, nothing };

// Runs the pool as its workers would: whatever is granted starts, tasks are done after a while, and the process that
// holds the poisonous key dies `fuse_ms` after it got it, and comes back. Each of `processes` has its own workers.
class PoisonedPool {
 public:
  PoisonedPool(std::vector<std::vector<Bytes>> processes, Bytes poison, std::int64_t fuse_ms,
               Told told = Told::evidence)
      : processes_(std::move(processes)), poison_(std::move(poison)), fuse_ms_(fuse_ms), told_(told) {
    v1::Record roomy;
    roomy.mutable_configure()->set_max_queued_jobs(10'000);
    pool_.append(roomy);
    for (const auto& workers : processes_) start(workers);
  }

  TestPool& pool() { return pool_; }
  int deaths() const { return deaths_; }
  // The longest that any job was queued, in looks.
  int waited() const { return waited_; }
  const std::set<Bytes>& done() const { return done_; }

  void run(std::int64_t ms) {
    for (std::int64_t at = 0; at < ms; at += 100) {
      pool_.pass(100);
      step();
      look_who_waits();
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
      const std::uint64_t session = pool_.session_of(killed);
      told_ == Told::evidence ? pool_.crash(session, {poison_}) : pool_.crash(session);
      for (const auto& workers : processes_) {
        if (std::find(workers.begin(), workers.end(), killed) != workers.end()) start(workers);
      }
    } else if (!records.empty()) {
      pool_.append(records);
    }
  }

  void look_who_waits() {
    pool_.machine().each_job(0, [&](const JobInfo& job) {
      int& looks = queued_[Bytes(job.key)];
      looks = job.state == JobState::queued ? looks + 1 : 0;
      waited_ = std::max(waited_, looks);
      return true;
    });
  }

  TestPool pool_;
  std::vector<std::vector<Bytes>> processes_;
  Bytes poison_;
  std::int64_t fuse_ms_;
  Told told_;
  int deaths_ = 0;
  int waited_ = 0;
  std::map<Bytes, int> queued_;
  std::set<Bytes> done_;
};

std::set<Bytes> quarantined(const TestPool& pool) {
  std::set<Bytes> keys;
  for (const Recorder::Buried& burial : pool.history().burials) {
    if (burial.quarantined) keys.insert(burial.key);
  }
  return keys;
}

Bytes reason(const TestPool& pool) {
  return pool.machine().dead().empty() ? Bytes() : pool.machine().dead().begin()->second.error;
}

void set_limit(TestPool& pool, std::uint32_t deaths) {
  v1::Configure options;
  options.set_quarantine_after_plus_one(deaths + 1);
  pool.append(rec::configure(options));
}

const std::vector<std::vector<std::vector<Bytes>>> kPools{
    {{"a"}}, {{"a"}, {"b"}, {"c"}}, {{"a1", "a2", "a3"}, {"b1", "b2"}}};

TEST(Quarantine, APoisonTaskIsFoundAmongItsNeighbours) {
  for (const auto& processes : kPools) {
    PoisonedPool run(processes, "poison", 200);
    for (int i = 0; i < 15; ++i) run.pool().task("before" + std::to_string(i));
    const std::uint64_t ticket = run.pool().task("poison");
    for (int i = 0; i < 15; ++i) run.pool().task("behind" + std::to_string(i));
    run.run(20'000);
    EXPECT_EQ(quarantined(run.pool()), std::set<Bytes>{"poison"});
    EXPECT_EQ(run.deaths(), 3);
    EXPECT_EQ(run.done().size(), 30U);
    EXPECT_EQ(run.pool().outcome(ticket), TicketState::failed);
    EXPECT_EQ(run.pool().machine().keys(), 0U);
  }
}

#ifdef TENURE_SANITIZED
constexpr int kVeryMany = 200;  // every step looks at each of them
#else
constexpr int kVeryMany = 1'000;
#endif

// However late it crashes its process.
TEST(Quarantine, APoisonResidentIsFoundAmongVeryManyNeighbours) {
  for (const auto& processes : kPools) {
    for (const std::int64_t fuse_ms : {0, 500, 60'000}) {
      SCOPED_TRACE(fuse_ms);
      PoisonedPool run(processes, "poison", fuse_ms);
      for (int i = 0; i < kVeryMany; ++i) run.pool().resident("good" + std::to_string(i));
      run.pool().resident("poison");
      run.run(4 * fuse_ms + 5'000);
      EXPECT_EQ(quarantined(run.pool()), std::set<Bytes>{"poison"});
      EXPECT_EQ(reason(run.pool()), "quarantined: its handler crashed its process 3 times (SIGSEGV)");
      EXPECT_EQ(run.deaths(), 3);
      EXPECT_EQ(run.pool().state("poison"), JobState::quarantined);
      EXPECT_LE(run.waited(), (kVeryMany + 1) / static_cast<int>(kStartingMax) + 1)
          << "longer than portions make it wait";
      for (int i = 0; i < kVeryMany; ++i) EXPECT_EQ(run.pool().state("good" + std::to_string(i)), JobState::running);
    }
  }
}

// Processes are killed around them, as often as you like.
TEST(Quarantine, DeathsWithoutEvidenceBlameNobodyAndMakeNobodyWait) {
  for (const auto& processes : kPools) {
    PoisonedPool run(processes, "unlucky", 300, Told::nothing);
    for (int i = 0; i < 48; ++i) run.pool().resident("good" + std::to_string(i));
    run.pool().resident("unlucky");
    run.run(60'000);
    EXPECT_GT(run.deaths(), 20);
    EXPECT_EQ(quarantined(run.pool()), std::set<Bytes>{});
    EXPECT_EQ(run.waited(), 0);
  }
}

TEST(Quarantine, OnlyTheCulpritsAreBlamed) {
  TestPool pool;
  set_limit(pool, 1);
  const std::uint64_t session = pool.node("a");
  for (const char* key : {"k1", "k2", "k3", "k4"}) pool.running(key);
  pool.crash(session, {"k2", "k4"}, "SIGABRT: an exception");
  EXPECT_EQ(quarantined(pool), (std::set<Bytes>{"k2", "k4"}));
  EXPECT_EQ(reason(pool), "quarantined: its handler crashed its process once (SIGABRT: an exception)");
  EXPECT_EQ(pool.state("k1"), JobState::queued);
}

// What a guard says of a tenure that another session holds, or that is over, counts for nothing.
TEST(Quarantine, EvidenceCountsOnlyAgainstWhatTheSessionHeld) {
  TestPool pool;
  set_limit(pool, 1);
  const std::uint64_t a = pool.node("a", {.serves = {"mine", "moved"}});
  const std::uint64_t b = pool.node("b", {.serves = {"other"}});
  for (const char* key : {"mine", "other", "moved"}) pool.running(key);
  const std::uint64_t over = pool.epoch("moved");
  pool.append(rec::serve(b, "b", {"moved"}, {}));
  pool.released("moved");
  pool.started("moved");
  pool.append(rec::crash(a, {pool.epoch("other"), over, 12345}));
  EXPECT_EQ(quarantined(pool), std::set<Bytes>{});
  EXPECT_EQ(pool.holder("other"), "b");
  EXPECT_EQ(pool.holder("moved"), "b");
}

TEST(Quarantine, NobodyIsBlamedForASessionThatEndedInAnotherWay) {
  for (const auto how : {v1::End::LEFT, v1::End::FENCED}) {
    TestPool pool;
    set_limit(pool, 1);
    const std::uint64_t session = pool.node("a");
    pool.running("k");
    v1::Record end = rec::crash(session, {pool.epoch("k")});
    end.mutable_end()->set_reason(how);
    pool.append(end);
    EXPECT_TRUE(pool.history().burials.empty());
  }
  TestPool pool;
  set_limit(pool, 1);
  const std::uint64_t session = pool.node("a");
  pool.running("k");
  pool.append(rec::remove_worker(session, "a"));
  EXPECT_TRUE(pool.history().burials.empty());
}

TEST(Quarantine, EvidenceAgainstVeryManyIsCut) {
  TestPool pool;
  set_limit(pool, 1);
  const std::uint64_t session = pool.node("a");
  std::vector<Bytes> keys;
  for (std::size_t i = 0; i < kCulpritsMax + 10; ++i) {
    keys.push_back("k" + std::to_string(i));
    pool.running(keys.back());
  }
  pool.crash(session, keys, Bytes(4 * kEvidenceBytesMax, 'x'));
  EXPECT_EQ(quarantined(pool).size(), kCulpritsMax);
  EXPECT_LT(reason(pool).size(), kEvidenceBytesMax + 100);
}

TEST(Quarantine, ARetryStartsAfresh) {
  TestPool pool;
  set_limit(pool, 2);
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t session = pool.node("a");
    if (!pool.info("k")) pool.task("k");
    pool.crash(session, {"k"});
  }
  ASSERT_EQ(pool.machine().dead().size(), 1U);
  EXPECT_TRUE(pool.machine().dead().begin()->second.quarantined);
  const std::uint64_t session = pool.node("a");
  pool.retry_dead(pool.machine().dead().begin()->first);
  pool.crash(session, {"k"});
  EXPECT_TRUE(pool.machine().dead().empty()) << "one crash is not two";
}

TEST(Quarantine, CrashesFarApartDoNotAddUp) {
  TestPool pool;
  set_limit(pool, 2);
  pool.resident("k");
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t session = pool.node("a");
    pool.started("k");
    pool.pass(kForgivenMs);
    pool.crash(session, {"k"});
  }
  EXPECT_TRUE(pool.history().burials.empty());
  const std::uint64_t session = pool.node("a");
  pool.started("k");
  pool.pass(kForgivenMs - 1'000);
  pool.crash(session, {"k"});
  EXPECT_EQ(quarantined(pool), std::set<Bytes>{"k"});
}

TEST(Quarantine, AJobThatIsAskedToStopIsStoppedByItsCrash) {
  TestPool pool;
  set_limit(pool, 1);
  const std::uint64_t session = pool.node("a");
  pool.running("k");
  pool.stop("k");
  pool.crash(session, {"k"});
  EXPECT_TRUE(pool.history().burials.empty());
  EXPECT_FALSE(pool.info("k"));
}

TEST(Quarantine, ZeroMeansNever) {
  TestPool pool;
  set_limit(pool, 0);
  pool.task("k");
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t session = pool.node("a");
    pool.crash(session, {"k"});
  }
  EXPECT_TRUE(pool.history().burials.empty());
}

// Where nothing is known about the deaths: the only job of its session, time after time, and young each time.
TEST(Quarantine, AJobThatWasAloneInEachOfManyDeathsIsSetAside) {
  TestPool pool;
  pool.resident("k");
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t session = pool.node("a");
    pool.started("k");
    EXPECT_TRUE(quarantined(pool).empty());
    pool.crash(session);
  }
  EXPECT_EQ(quarantined(pool), std::set<Bytes>{"k"});
  EXPECT_EQ(reason(pool), "quarantined: its holder died 3 times in a row, with no other job in its process");
}

// Whatever comes between is in its favour.
TEST(Quarantine, AJobThatWasAloneIsNotSetAsideIfAnythingSpeaksForIt) {
  const auto lonely_death = [](TestPool& pool, const rec::WorkerSpec& spec = {}) {
    const std::uint64_t session = pool.node("a", spec);
    pool.started("k");
    pool.crash(session);
  };
  const auto never = [&](const char* what, const std::function<void(TestPool&)>& between) {
    SCOPED_TRACE(what);
    TestPool pool;
    pool.resident("k");
    for (int i = 0; i < 4; ++i) {
      lonely_death(pool);
      lonely_death(pool);
      between(pool);
    }
    EXPECT_TRUE(pool.history().burials.empty());
  };
  never("it has run for long", [](TestPool& pool) {
    const std::uint64_t session = pool.node("a");
    pool.started("k");
    pool.pass(kYouthMs);
    pool.crash(session);
  });
  never("it was in company", [](TestPool& pool) {
    const std::uint64_t session = pool.node("a");
    pool.started("k");
    const std::uint64_t ticket = pool.task("beside");
    pool.crash(session);
    pool.stop("beside");
    EXPECT_NE(ticket, 0U);
  });
  never("it was handed over", [](TestPool& pool) {
    const std::uint64_t session = pool.node("a");
    pool.started("k");
    pool.append(rec::drain("a"));
    pool.released("k");
    pool.leave(session);
  });
  TestPool pool;
  pool.resident("k");
  for (int i = 0; i < 10; ++i) lonely_death(pool, {.isolates = true});
  EXPECT_TRUE(pool.history().burials.empty()) << "a program cannot crash its worker";
}

// A process has a session for each shard, and its other sessions may have had the culprit.
TEST(Quarantine, NobodyIsAloneInOneOfSeveralShards) {
  TestPool pool;
  v1::Configure options;
  options.set_shards(2);
  pool.append(rec::configure(options));
  pool.resident("k");
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t session = pool.node("a");
    pool.started("k");
    pool.crash(session);
  }
  EXPECT_TRUE(pool.history().burials.empty());
}

}  // namespace
}  // namespace tenure::test
