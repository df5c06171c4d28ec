// Listings, checkpoints, and clients that keep no state.

#include <set>

#include "log/engines.h"
#include "pool_conformance/fixture.h"

namespace tenure::conformance {
namespace {

class PoolListing : public PoolConformance {};

// Workers here and everywhere; keys page by page, each once; a job's payload; a key's holder and epoch.
TEST_P(PoolListing, ListsWhatThereIs) {
  Pool pool = open();
  Pool other = open();
  WorkerOptions options;
  options.id = "here";
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_), options));
  options.id = "there";
  ASSERT_TRUE(other.add_worker(std::make_shared<Resident>(notes_), options));
  std::vector<Ticket> tickets;
  for (int i = 0; i < 25; ++i) tickets.push_back(pool.dispatch("k" + std::to_string(i), "payload").value());
  for (const Ticket& ticket : tickets) ASSERT_TRUE(ticket.wait_started(kPatience));

  EXPECT_EQ(pool.local_workers(), std::vector<std::string>{"here"});
  const std::vector<WorkerInfo> workers = pool.workers().value();
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(workers[0].id, "here");
  EXPECT_EQ(workers[1].id, "there");
  EXPECT_EQ(workers[0].keys + workers[1].keys, 25U);
  EXPECT_EQ(workers[0].lease, default_lease(url()));

  std::set<std::string> keys;
  KeyQuery query;
  query.limit = 10;
  for (int page = 0; page < 3; ++page) {
    const KeyPage got = pool.keys(query).value();
    for (const KeyInfo& key : got.keys) EXPECT_TRUE(keys.insert(key.key).second) << key.key;
    if (!got.next) break;
    query.from = *got.next;
  }
  EXPECT_EQ(keys.size(), 25U);
  EXPECT_EQ(pool.keys({.prefix = "k1"}).value().keys.size(), 11U);
  EXPECT_EQ(pool.keys({.worker = "here"}).value().keys.size(), workers[0].keys);
  EXPECT_EQ(pool.keys({.state = JobState::queued}).value().keys.size(), 0U);

  EXPECT_EQ(pool.payload("k3").value(), "payload");
  EXPECT_EQ(pool.key("k3").value().state, JobState::running);
  EXPECT_EQ(pool.holder("k3").value().epoch, tickets[3].epoch());
  EXPECT_EQ(pool.holder("k3").value().worker, tickets[3].worker());
  EXPECT_EQ(code_of(pool.payload("none")), Errc::no_such_key);
}

// A job that waits has no holder.
TEST_P(PoolListing, NobodyHoldsWhatWaits) {
  Pool pool = open();
  ASSERT_TRUE(pool.dispatch("k").value().wait_accepted(kPatience));
  EXPECT_EQ(code_of(pool.holder("k")), Errc::no_such_key);
  EXPECT_EQ(pool.key("k").value().state, JobState::queued);
}

// A checkpoint of a running job reaches the next holder, if nothing newer was left by its stop.
TEST_P(PoolListing, CheckpointReachesTheNextHolder) {
  class Saver final : public Handler {
   public:
    explicit Saver(Notebook& notes) : notes_(notes) {}
    Outcome start(Job& job) override {
      notes_.write("start from " + job.last_checkpoint().value_or("nothing"));
      return job.checkpoint("state after " + std::to_string(++starts_) + " starts");
    }
    Outcome run_task(Job& job) override {
      if (job.last_checkpoint()) return *job.last_checkpoint();
      EXPECT_EQ(code_of(job.checkpoint(std::string(kCheckpointBytesMax + 1, 'x'))), Errc::invalid);
      EXPECT_TRUE(job.checkpoint("half way"));
      return Outcome::failed("once more");
    }

   private:
    Notebook& notes_;
    int starts_ = 0;
  };
  Pool pool = open();
  const auto handler = std::make_shared<Saver>(notes_);
  Worker first = pool.add_worker(handler).value();
  ASSERT_TRUE(pool.dispatch("k").value().wait_started(kPatience));
  ASSERT_TRUE(pool.add_worker(handler));
  ASSERT_TRUE(first.remove());
  EXPECT_TRUE(notes_.wait_for("start from state after 1 starts"));
  EXPECT_EQ(notes_.pages().front(), "start from nothing");
  EXPECT_EQ(pool.dispatch_task("t").value().wait_done(kPatience).value(), "half way");
}

// A client has no state and no workers, and still everything it asks is answered.
TEST_P(PoolListing, ClientDispatchesWithoutState) {
  Pool pool = open();
  class Both final : public Resident {
   public:
    using Resident::Resident;
    Outcome run_task(Job& job) override {
      if (job.payload() == "fail") return NoRetry{"as asked"};
      return "did " + job.payload();
    }
  };
  ASSERT_TRUE(pool.add_worker(std::make_shared<Both>(notes_)));
  Pool caller = open(client());
  const Ticket task = caller.dispatch_task("t", "this").value();
  EXPECT_EQ(task.wait_done(kPatience).value(), "did this");
  EXPECT_EQ(code_of(caller.dispatch_task("t", "fail").value().wait_done(kPatience)), Errc::job_failed);
  EXPECT_EQ(problem(caller.dispatch("k").value().wait_started(kPatience)), "");
  EXPECT_EQ(code_of(caller.dispatch("k").value().wait_accepted(kPatience)), Errc::key_exists);
  EXPECT_EQ(problem(caller.notify("k", "hello").value().wait_accepted(kPatience)), "");
  EXPECT_EQ(code_of(caller.notify("nobody", "hello").value().wait_accepted(kPatience)), Errc::no_such_key);
  EXPECT_TRUE(notes_.wait_for("notify k hello"));
  EXPECT_EQ(problem(caller.stop("k").value().wait_done(kPatience)), "");
  EXPECT_EQ(code_of(caller.add_worker([](Job&) {})), Errc::refused);
}

// What somebody was told is in every listing that begins after that, in whichever process: 500 changes by one pool
// object, each looked up by another one that follows the log, and by a client.
TEST_P(PoolListing, IsNotOlderThanWhatAnybodyWasTold) {
#ifdef TENURE_SANITIZED
  constexpr int kRounds = 25;
#else
  constexpr int kRounds = 125;
#endif
  Pool changes = open();
  Pool looks = open();
  Pool caller = open(client());
  ASSERT_TRUE(looks.add_worker(std::make_shared<Resident>(notes_)));
  ASSERT_EQ(looks.workers().value().size(), 1U);
  ASSERT_EQ(caller.workers().value().size(), 1U);
  for (int i = 0; i < kRounds; ++i) {
    const Pool& reader = i % 2 == 0 ? looks : caller;
    WorkerOptions options;
    options.id = "w" + std::to_string(i);
    Worker worker = changes.add_worker(std::make_shared<Resident>(notes_), options).value();
    ASSERT_EQ(reader.workers().value().size(), 2U) << i;
    const std::string key = "k" + std::to_string(i);
    ASSERT_EQ(problem(changes.dispatch(key).value().wait_started(kPatience)), "");
    ASSERT_EQ(reader.key(key).value().state, JobState::running) << i;
    ASSERT_EQ(problem(changes.stop(key).value().wait_done(kPatience)), "");
    ASSERT_EQ(code_of(reader.key(key)), Errc::no_such_key) << i;
    ASSERT_EQ(problem(worker.remove()), "");
    ASSERT_EQ(reader.workers().value().size(), 1U) << i;
  }
}

// A stop drops the tasks behind the one that runs, and tells its caller how many, with a state and without.
TEST_P(PoolListing, StopSaysHowManyTasksItHasDropped) {
  Pool pool = open();
  for (const bool has_state : {true, false}) {
    Pool caller = open(has_state ? quick() : client());
    const std::string key = has_state ? "a" : "b";
    for (int i = 0; i < 3; ++i) ASSERT_EQ(problem(caller.dispatch_task(key).value().wait_accepted(kPatience)), "");
    EXPECT_EQ(caller.stop(key).value().wait_done(kPatience).value(), "3");
    ASSERT_EQ(problem(caller.dispatch(key).value().wait_accepted(kPatience)), "");
    EXPECT_EQ(caller.stop(key).value().wait_done(kPatience).value(), "");
  }
}

// A dispatcher without a state learns which worker has started its job.
TEST_P(PoolListing, ClientLearnsWhoHasStartedItsJob) {
  Pool pool = open();
  WorkerOptions options;
  options.id = "w";
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_), options));
  Pool caller = open(client());
  const Ticket ticket = caller.dispatch("k").value();
  ASSERT_EQ(problem(ticket.wait_started(kPatience)), "");
  EXPECT_EQ(ticket.worker(), "w");
}

// Only a listing makes a client load the state.
TEST_P(PoolListing, ClientLooksWhenAsked) {
  Pool pool = open();
  WorkerOptions options;
  options.id = "w";
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_), options));
  Pool caller = open(client());
  ASSERT_TRUE(caller.dispatch("k", "payload").value().wait_started(kPatience));
  EXPECT_EQ(caller.workers().value().at(0).id, "w");
  EXPECT_EQ(caller.payload("k").value(), "payload");
  EXPECT_EQ(problem(caller.drain("w")), "");
}

// A client lists very many keys, each once, from its own state or from a member's answers.
TEST_P(PoolListing, ClientListsVeryMany) {
  class Quiet final : public Handler {
   public:
    Outcome start(Job&) override { return {}; }
    std::optional<std::string> stop(Job&) override { return std::nullopt; }
  };
#ifdef TENURE_SANITIZED
  constexpr int kKeys = 2'000;
#else
  constexpr int kKeys = 20'000;
#endif
  PoolOptions options;
  options.max_queued_jobs = kKeys;
  Pool pool = open(options);
  ASSERT_TRUE(pool.add_worker(std::make_shared<Quiet>()));
  std::vector<Ticket> tickets;
  for (int i = 0; i < kKeys; ++i) tickets.push_back(pool.dispatch("k" + std::to_string(i)).value());
  for (const Ticket& ticket : tickets) ASSERT_TRUE(ticket.wait_started(kPatience));

  const Pool caller = open(client());
  std::set<std::string> keys;
  KeyQuery query;
  query.limit = 7'000;
  for (bool more = true; more;) {
    const KeyPage page = caller.keys(query).value();
    EXPECT_LE(page.keys.size(), query.limit);
    for (const KeyInfo& key : page.keys) EXPECT_TRUE(keys.insert(key.key).second) << key.key;
    more = page.next.has_value();
    query.from = page.next.value_or(0);
  }
  EXPECT_EQ(keys.size(), std::size_t{kKeys});
  EXPECT_EQ(caller.workers().value().at(0).keys, std::size_t{kKeys});
  EXPECT_EQ(caller.holder("k7").value().worker, tickets[7].worker());
}

INSTANTIATE_TEST_SUITE_P(Engines, PoolListing, testing::ValuesIn(pool_engines()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::conformance
