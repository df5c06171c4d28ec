// The differences of a pool with shards, and what must stay the same.

#include <future>
#include <set>
#include <thread>

#include "base/shard.h"
#include "machine/decode.h"
#include "pool_conformance/fixture.h"
#include "tenure/v1/record.pb.h"

namespace tenure::conformance {
namespace {

class PoolShards : public PoolConformance {
 protected:
  // Keys of all four shards.
  static std::vector<std::string> keys(std::size_t count) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back("key-" + std::to_string(i));
    return all;
  }
  static PoolOptions four() {
    PoolOptions options = quick();
    options.shards = 4;
    return options;
  }
  Pool sharded(PoolOptions options = four()) const { return Pool("sharded", fresh_url(), std::move(options)); }
};

TEST_P(PoolShards, EveryKeyHasOneHolderAndAnEpochOfItsOwn) {
  Pool pool = sharded();
  Pool other = sharded();
  pool.add_worker(std::make_shared<Resident>(notes_, "a "), {.id = "a"}).value();
  other.add_worker(std::make_shared<Resident>(notes_, "b "), {.id = "b"}).value();
  const auto all = keys(64);
  std::vector<Ticket> tickets;
  for (const std::string& key : all) tickets.push_back(pool.dispatch(key).value());
  for (Ticket& ticket : tickets) ASSERT_TRUE(ticket.wait_started(kPatience));
  std::set<std::uint64_t> epochs;
  std::set<std::uint32_t> shards;
  std::map<std::string, int> held;
  for (const std::string& key : all) {
    const Holder holder = other.holder(key).value();
    EXPECT_TRUE(epochs.insert(holder.epoch).second) << key;
    EXPECT_EQ(holder.epoch % 4, shard_of(key, 4));
    shards.insert(shard_of(key, 4));
    ++held[holder.worker];
  }
  EXPECT_EQ(shards.size(), 4U);
  EXPECT_GT(held["a"], 16);
  EXPECT_GT(held["b"], 16);
  const auto workers = pool.workers().value();
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(workers[0].keys + workers[1].keys, 64U);
  EXPECT_EQ(code_of(other.dispatch("key-7").value().wait_accepted(kPatience)), Errc::key_exists);
}

TEST_P(PoolShards, TheirNumberIsThePoolsAndStays) {
  Pool pool = sharded();
  PoolOptions any = quick();
  Pool knows = sharded(any);
  pool.add_worker([](Job& job) { return job.payload(); }).value();
  for (const std::string& key : keys(16)) {
    EXPECT_EQ(knows.dispatch_task(key, "to " + key).value().wait_done(kPatience).value(), "to " + key);
  }
  for (const std::uint32_t count : {1U, 3U, 8U}) {
    PoolOptions wrong = quick();
    wrong.shards = count;
    const Result<Pool> refused = Pool::open("sharded", fresh_url(), wrong);
    ASSERT_FALSE(refused) << count;
    EXPECT_EQ(refused.error().code, Errc::refused);
    EXPECT_NE(refused.error().message().find("shards=4"), std::string::npos) << refused.error().message();
  }
  PoolOptions wrong = quick();
  wrong.shards = 257;
  EXPECT_EQ(code_of(Pool::open("sharded", fresh_url(), wrong)), Errc::invalid);
}

TEST_P(PoolShards, ListingsComePageByPageFromAll) {
  Pool pool = sharded();
  const auto all = keys(40);
  for (const std::string& key : all) ASSERT_TRUE(pool.dispatch(key).value().wait_accepted(kPatience));
  std::set<std::string> listed;
  KeyQuery query;
  query.limit = 7;
  for (;;) {
    const KeyPage page = pool.keys(query).value();
    EXPECT_LE(page.keys.size(), 7U);
    for (const KeyInfo& key : page.keys) EXPECT_TRUE(listed.insert(key.key).second);
    if (!page.next) break;
    query.from = *page.next;
  }
  EXPECT_EQ(listed.size(), 40U);
  for (const std::string& key : all) EXPECT_EQ(pool.key(key).value().key, key);
}

TEST_P(PoolShards, DeadLettersOfAllAreListedRetriedAndDropped) {
  std::atomic<bool> broken = true;
  Pool pool = sharded();
  pool.add_worker([&](Job&) -> std::string {
        if (broken) throw NoRetry("it broke");
        return "mended";
      })
      .value();
  for (const std::string& key : keys(12)) EXPECT_FALSE(pool.dispatch_task(key).value().wait_done(kPatience));
  std::vector<DeadJob> dead;
  for (std::uint64_t after = 0;;) {
    const auto page = pool.dead_jobs(after, 5).value();
    if (page.empty()) break;
    for (const DeadJob& job : page) {
      EXPECT_GT(job.id, after);
      after = job.id;
      dead.push_back(job);
    }
  }
  ASSERT_EQ(dead.size(), 12U);
  broken = false;
  for (std::size_t i = 0; i < dead.size(); ++i) {
    const auto ticket = i % 2 == 0 ? pool.retry_dead(dead[i].id) : pool.drop_dead(dead[i].id);
    EXPECT_TRUE(ticket.value().wait_accepted(kPatience)) << dead[i].key;
  }
  EXPECT_TRUE(pool.dead_jobs().value().empty());
}

TEST_P(PoolShards, AWorkerWhoseIdIsTakenJoinsNone) {
  Pool pool = sharded();
  Pool other = sharded();
  pool.add_worker([](Job&) { return std::string(); }, {.id = "same"}).value();
  WorkerOptions same{.id = "same"};
  same.join_timeout = 300ms;
  EXPECT_EQ(code_of(other.add_worker([](Job&) { return std::string(); }, same)), Errc::key_exists);
  EXPECT_EQ(pool.workers().value().size(), 1U);
  EXPECT_TRUE(other.local_workers().empty());
}

TEST_P(PoolShards, ServedKeysOfAnyShardAreTheWorkers) {
  Pool pool = sharded();
  const auto all = keys(12);
  pool.add_worker(std::make_shared<Resident>(notes_), {.id = "other"}).value();
  Worker worker = pool.add_worker(std::make_shared<Resident>(notes_), {.id = "server", .serves = all}).value();
  for (const std::string& key : all) {
    Ticket ticket = pool.dispatch(key).value();
    ASSERT_TRUE(ticket.wait_started(kPatience));
    EXPECT_EQ(pool.holder(key).value().worker, "server");
  }
}

// The requesting process has no worker, and shuts every shard down; if it could not, the workers would.
TEST_P(PoolShards, AShutdownEndsAllAndTheNextPoolIsNew) {
  {
    std::atomic<int> done = 0;
    Pool pool = sharded();
    Pool asks = sharded();
    pool.add_worker([&](Job&) {
          std::this_thread::sleep_for(2ms);
          ++done;
          return std::string();
        })
        .value();
    std::vector<Ticket> tickets;
    for (const std::string& key : keys(40)) tickets.push_back(pool.dispatch_task(key).value());
    for (Ticket& ticket : tickets) ASSERT_TRUE(ticket.wait_accepted(kPatience));
    ASSERT_TRUE(asks.shutdown(kPatience));
    EXPECT_EQ(done, 40) << "what was accepted is done first";
    EXPECT_EQ(code_of(asks.dispatch_task("late")), Errc::shutting_down);
  }
  PoolOptions two = quick();
  two.shards = 2;
  Pool next = sharded(two);
  next.add_worker([](Job&) { return std::string("new"); }).value();
  EXPECT_EQ(next.dispatch_task("key-1").value().wait_done(kPatience).value(), "new");
}

// The other shards have ended long before: they must not accept jobs, nor be created again by a process that knows
// their number.
TEST_P(PoolShards, OneThatTakesLongToEndHoldsTheOthersInPlace) {
  Gate gate;
  {
    Pool pool = sharded();
    pool.add_worker([&](Job&) { gate.pass(); }).value();
    ASSERT_TRUE(pool.dispatch_task("long").value().wait_started(kPatience));
    Pool asks = sharded();
    std::thread ender([&] { EXPECT_EQ(problem(asks.shutdown(kPatience)), ""); });
    PoolOptions any = client();
    const auto ended = [&](const std::string& key) {
      Pool late = sharded(any);
      const Result<Ticket> ticket = late.dispatch_task(key);
      return code_of(ticket ? ticket->wait_accepted(kPatience) : Status(Failure(ticket.error())));
    };
    for (const std::string& key : keys(4)) {
      const auto deadline = std::chrono::steady_clock::now() + kPatience;
      while (ended(key) != Errc::shutting_down && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(5ms);
      }
      EXPECT_EQ(ended(key), Errc::shutting_down) << key;
    }
    const Result<KeyPage> listed = sharded(any).keys();
    EXPECT_EQ(problem(listed), "");
    EXPECT_GE(listed ? listed->keys.size() : 0, 1U);
    gate.open();
    ender.join();
  }
  for (const std::uint32_t shard : {0U, 1U, 3U}) {
    const auto left =
        open_log(fresh_url(), {.pool = "sharded", .read_only = true, .shard = {shard, shard == 0 ? 0U : 4U}});
    EXPECT_FALSE(left) << shard;
  }
}

TEST_P(PoolShards, AWorkerThatTakesLongToLeaveIsRemovedTheSecondTime) {
  Gate gate;
  Pool pool = sharded();
  Worker worker = pool.add_worker([&](Job&) { gate.pass(); }, {.id = "w"}).value();
  ASSERT_TRUE(pool.dispatch_task("long").value().wait_started(kPatience));
  EXPECT_EQ(code_of(pool.remove_worker(worker, 100ms)), Errc::timed_out);
  gate.open();
  EXPECT_EQ(problem(pool.remove_worker(worker, kPatience)), "");
  EXPECT_EQ(code_of(pool.remove_worker(worker, kPatience)), Errc::invalid);
  EXPECT_TRUE(pool.add_worker([](Job&) { return std::string(); }, {.id = "w"}));
}

// It leaves although nobody waits for it any more, and its id is free again.
TEST_P(PoolShards, AWorkerThatHasLeftMeanwhileIsRemovedOrAddedAnew) {
  for (const bool remove_again : {true, false}) {
    Gate gate;
    Pool pool = sharded();
    Worker worker = pool.add_worker([&](Job&) { gate.pass(); }, {.id = "w"}).value();
    ASSERT_TRUE(pool.dispatch_task("long").value().wait_started(kPatience));
    EXPECT_EQ(code_of(pool.remove_worker(worker, 10ms)), Errc::timed_out);
    gate.open();
    if (remove_again) {
      while (!pool.local_workers().empty()) std::this_thread::yield();  // of the first shard
      EXPECT_EQ(problem(pool.remove_worker(worker, kPatience)), "");
      EXPECT_EQ(code_of(pool.remove_worker(worker, kPatience)), Errc::invalid);
    }
    const auto add = [&] { return pool.add_worker([](Job&) { return std::string("new"); }, {.id = "w"}); };
    Result<Worker> added = add();
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (code_of(added) == Errc::key_exists && std::chrono::steady_clock::now() < deadline) added = add();
    ASSERT_EQ(problem(added), "");
    EXPECT_EQ(pool.dispatch_task("k").value().wait_done(kPatience).value(), "new");
  }
}

TEST_P(PoolShards, OfTwoThatWantAnIdOneGetsIt) {
  Pool one = sharded();
  Pool two = sharded();
  WorkerOptions same{.id = "same"};
  same.join_timeout = 500ms;
  std::atomic<int> won = 0;
  const auto add = [&](Pool& pool) { won += pool.add_worker([](Job&) { return std::string(); }, same) ? 1 : 0; };
  std::thread other([&] { add(two); });
  add(one);
  other.join();
  EXPECT_EQ(won, 1);
}

TEST_P(PoolShards, WhatIsMalformedIsRefusedByAll) {
  Pool pool = sharded();
  EXPECT_EQ(code_of(pool.add_worker([](Job&) { return std::string(); }, {.id = "w", .serves = {"good", ""}})),
            Errc::invalid);
  EXPECT_TRUE(pool.workers().value().empty());
  Worker worker = pool.add_worker([](Job&) { return std::string(); }, {.id = "w"}).value();
  EXPECT_EQ(code_of(worker.serve({"good", ""})), Errc::invalid);
}

// As if the process that was asked to end the pool had died when one shard had heard of it.
TEST_P(PoolShards, AShutdownThatReachedOneShardReachesAll) {
  Pool pool = sharded();
  pool.add_worker([](Job&) { return std::string(); }).value();
  {
    const auto log = open_log(fresh_url(), {.pool = "sharded", .read_only = false, .shard = {2, 4}}).value();
    v1::Batch batch;
    batch.set_format(kBatchFormat);
    batch.set_sender(4711);
    batch.set_sequence(1);
    batch.add_records()->mutable_shutdown();
    std::promise<void> said;
    log->append(Lane::data, batch.SerializeAsString(), [&](const Result<Position>&) { said.set_value(); });
    said.get_future().wait();
    log->close();
  }
  for (const std::string& key : keys(16)) {
    const auto ended = [&] {
      const Result<Ticket> ticket = pool.dispatch_task(key);
      return !ticket || code_of(ticket->wait_accepted(kPatience)) == Errc::shutting_down;
    };
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!ended() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(5ms);
    EXPECT_TRUE(ended()) << key;
  }
}

TEST_P(PoolShards, WhoLeavesHandsOverItsKeysOfAllShards) {
  Pool pool = sharded();
  auto worker = std::make_unique<Pool>(sharded());
  worker->add_worker(std::make_shared<Resident>(notes_, "first "), {.id = "first"}).value();
  const auto all = keys(16);
  for (const std::string& key : all) ASSERT_TRUE(pool.dispatch(key).value().wait_started(kPatience));
  pool.add_worker(std::make_shared<Resident>(notes_, "second "), {.id = "second"}).value();
  ASSERT_TRUE(worker->close(kPatience));
  for (const std::string& key : all) {
    ASSERT_TRUE(notes_.wait_for("second start " + key + " from first blob of " + key)) << key;
    EXPECT_EQ(pool.holder(key).value().worker, "second");
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, PoolShards, testing::ValuesIn(test_engines()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::conformance
