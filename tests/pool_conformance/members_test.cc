// Workers that come, go and are taken over, and which worker gets which key.

#include <set>

#include "assign/jump.h"
#include "base/bytes.h"
#include "pool_conformance/fixture.h"

namespace tenure::conformance {
namespace {

class PoolMembers : public PoolConformance {
 protected:
  static void dispatch_all(Pool& pool, int count) {
    std::vector<Ticket> tickets;
    for (int i = 0; i < count; ++i) tickets.push_back(pool.dispatch("key-" + std::to_string(i)).value());
    for (const Ticket& ticket : tickets) EXPECT_EQ(problem(ticket.wait_started(kPatience)), "");
  }
  static std::map<std::string, std::string> holders(const Pool& pool) {
    std::map<std::string, std::string> holders;
    for (const KeyInfo& key : pool.keys({.limit = 10'000}).value().keys) holders[key.key] = key.worker;
    return holders;
  }
  static WorkerOptions named(std::string id) {
    WorkerOptions options;
    options.id = std::move(id);
    return options;
  }
};

// An id is unique among the living, in this process and elsewhere, and free again once its worker has left.
TEST_P(PoolMembers, IdsAreUnique) {
  Pool pool = open();
  Pool other = open();
  const Worker worker = pool.add_worker(std::make_shared<Resident>(notes_), named("w")).value();
  EXPECT_EQ(worker.id(), "w");
  EXPECT_EQ(code_of(pool.add_worker(std::make_shared<Resident>(notes_), named("w"))), Errc::key_exists);
  WorkerOptions impatient = named("w");
  impatient.join_timeout = 1s;
  EXPECT_EQ(code_of(other.add_worker(std::make_shared<Resident>(notes_), impatient)), Errc::key_exists);
  EXPECT_EQ(problem(pool.remove_worker(worker)), "");
  EXPECT_EQ(problem(pool.add_worker(std::make_shared<Resident>(notes_), named("w"))), "");
}

// A worker that joins takes over its share, and one that leaves hands over all: each job is stopped on the old worker
// before it is started on the new one, with what its stop left.
TEST_P(PoolMembers, KeysMoveOneAtATime) {
  Pool pool = open();
  Worker a = pool.add_worker(std::make_shared<Resident>(notes_, "a "), named("a")).value();
  dispatch_all(pool, 40);
  Pool other = open();
  ASSERT_TRUE(other.add_worker(std::make_shared<Resident>(notes_, "b "), named("b")));
  ASSERT_TRUE(notes_.wait([](const Notebook::Pages& pages) {
    return std::any_of(pages.begin(), pages.end(), [](const std::string& line) { return line.starts_with("b start"); });
  }));
  EXPECT_EQ(problem(a.remove()), "");
  for (int i = 0; i < 40; ++i) {
    const std::string key = "key-" + std::to_string(i);
    ASSERT_TRUE(notes_.wait_for("b start " + key + " from a blob of " + key));
  }
  std::map<std::string, int> running;
  for (const std::string& line : notes_.pages()) {
    const std::string key = line.substr(line.find("key-"), line.find(' ', line.find("key-")) - line.find("key-"));
    running[key] += line.find("start") != std::string::npos ? 1 : -1;
    ASSERT_LE(running[key], 1) << line;
  }
  EXPECT_EQ(pool.local_workers(), std::vector<std::string>());
}

// Jobs that were accepted while no worker was alive start when one joins.
TEST_P(PoolMembers, JobsWaitForTheFirstWorker) {
  Pool pool = open();
  const Ticket ticket = pool.dispatch("k").value();
  EXPECT_EQ(problem(ticket.wait_accepted(kPatience)), "");
  EXPECT_EQ(code_of(ticket.wait_started(0s)), Errc::timed_out);
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_)));
  EXPECT_EQ(problem(ticket.wait_started(kPatience)), "");
}

// The epoch of a key grows from hold to hold.
TEST_P(PoolMembers, EpochsGrow) {
  Pool pool = open();
  Worker a = pool.add_worker(std::make_shared<Resident>(notes_, "a "), named("a")).value();
  ASSERT_TRUE(pool.dispatch("k").value().wait_started(kPatience));
  const Holder first = pool.holder("k").value();
  EXPECT_EQ(first.worker, "a");
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_, "b "), named("b")));
  ASSERT_TRUE(a.remove());
  ASSERT_TRUE(notes_.wait_for("b start k from a blob of k"));
  const Holder second = pool.holder("k").value();
  EXPECT_EQ(second.worker, "b");
  EXPECT_GT(second.epoch, first.epoch);
}

// A served key goes to the worker that serves it, wherever it was before, and back to the rule afterwards.
TEST_P(PoolMembers, ServedKeys) {
  Pool pool = open();
  Worker a = pool.add_worker(std::make_shared<Resident>(notes_, "a "), named("a")).value();
  WorkerOptions serving = named("b");
  serving.serves = {"door-b"};
  Worker b = pool.add_worker(std::make_shared<Resident>(notes_, "b "), serving).value();
  ASSERT_TRUE(pool.dispatch("door-b").value().wait_started(kPatience));
  EXPECT_EQ(pool.holder("door-b").value().worker, "b");
  ASSERT_TRUE(a.serve({"door-b"}));
  EXPECT_TRUE(notes_.wait_for("a start door-b from b blob of door-b"));
  ASSERT_TRUE(a.stop_serving({"door-b"}));
  EXPECT_TRUE(notes_.wait_for("b start door-b from a blob of door-b"));
}

// A worker of ten times the weight gets far more of the keys.
TEST_P(PoolMembers, WeightIsAShare) {
  Pool pool = open();
  WorkerOptions heavy = named("heavy");
  heavy.weight = 1000;
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_), heavy));
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_), named("light")));
  dispatch_all(pool, 200);
  int light = 0;
  for (const auto& [key, worker] : holders(pool)) light += worker == "light" ? 1 : 0;
  EXPECT_GT(light, 0);
  EXPECT_LT(light, 60);
}

// A worker that replaces another inherits exactly its keys.
TEST_P(PoolMembers, ReplacementInheritsTheKeys) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_), named("a")));
  Worker b = pool.add_worker(std::make_shared<Resident>(notes_), named("b")).value();
  dispatch_all(pool, 60);
  const auto before = holders(pool);
  WorkerOptions heir = named("c");
  heir.replaces = "b";
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_), heir));
  ASSERT_TRUE(b.remove());
  std::size_t wanted = 60;
  for (const auto& [key, worker] : before) wanted += worker == "b" ? 2 : 0;  // a stop and a start each
  ASSERT_TRUE(notes_.wait_lines(wanted));
  ASSERT_TRUE(pool.drain("nobody"));  // makes sure that the last start has been read
  for (const auto& [key, worker] : before) {
    const Result<KeyInfo> now = pool.key(key);
    ASSERT_TRUE(now);
    EXPECT_EQ(now->worker, worker == "b" ? "c" : "a") << key;
  }
  EXPECT_EQ(notes_.pages().size(), wanted);
}

// The user's own function chooses, of the workers sorted by age.
TEST_P(PoolMembers, UsersChoice) {
  PoolOptions options = quick();
  options.assignment = Assignment::chosen;
  options.choose = [](std::string_view key, const std::vector<WorkerView>& workers) {
    return key.starts_with("old") ? std::size_t{0} : workers.size() - 1;
  };
  Pool pool = open(options);
  for (const char* id : {"first", "second", "third"}) {
    ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_), named(id)));
  }
  ASSERT_TRUE(pool.dispatch("old-1").value().wait_started(kPatience));
  ASSERT_TRUE(pool.dispatch("new-1").value().wait_started(kPatience));
  EXPECT_EQ(pool.holder("old-1").value().worker, "first");
  EXPECT_EQ(pool.holder("new-1").value().worker, "third");
}

// Of a function that throws, or gives an index that is none, the owner hears, and the key is placed all the same. A key
// that is served is its server's, and asked for again when that ends.
TEST_P(PoolMembers, ChoicesThatFailAndServedKeys) {
  PoolOptions options = quick();
  options.assignment = Assignment::chosen;
  options.choose = [](std::string_view key, const std::vector<WorkerView>& workers) -> std::size_t {
    if (key.starts_with("throws")) throw std::runtime_error("no idea");
    return key.starts_with("far") ? workers.size() : 0;
  };
  options.logger = [&](LogLevel level, std::string_view text) {
    if (level == LogLevel::error) notes_.write(std::string(text));
  };
  Pool pool = open(options);
  Worker first = pool.add_worker(std::make_shared<Resident>(notes_), named("first")).value();
  Worker second = pool.add_worker(std::make_shared<Resident>(notes_), named("second")).value();
  ASSERT_TRUE(second.serve({"served"}));
  for (const char* key : {"throws", "far", "served", "plain"}) {
    ASSERT_TRUE(pool.dispatch(key).value().wait_started(kPatience)) << key;
  }
  const auto said = [&](const std::string& key, const std::string& why) {
    return notes_.wait([&](const Notebook::Pages& pages) {
      return std::any_of(pages.begin(), pages.end(), [&](const std::string& page) {
        return page.find("'" + key + "'") != std::string::npos && page.find(why) != std::string::npos;
      });
    });
  };
  EXPECT_TRUE(said("throws", "no idea"));
  EXPECT_TRUE(said("far", "the index 2 of 2"));
  EXPECT_EQ(pool.holder("plain").value().worker, "first");
  EXPECT_EQ(pool.holder("served").value().worker, "second");
  ASSERT_TRUE(second.stop_serving({"served"}));
  EXPECT_TRUE(notes_.wait([](const Notebook::Pages& pages) {
    return std::count(pages.begin(), pages.end(), "start served from blob of served") == 1;
  }));
  EXPECT_EQ(pool.holder("served").value().worker, "first");
}

// Any member that has the function chooses, also a younger one; a member without it hears that it has none.
TEST_P(PoolMembers, AYoungerMemberThatCanChooseDoes) {
  PoolOptions choosing = quick();
  choosing.assignment = Assignment::chosen;
  choosing.choose = [](std::string_view, const std::vector<WorkerView>& workers) { return workers.size() - 1; };
  Pool founder = open(choosing);
  ASSERT_TRUE(founder.add_worker(std::make_shared<Resident>(notes_), named("founder")));
  PoolOptions plain = quick();
  plain.logger = [&](LogLevel level, std::string_view text) {
    const bool missing = text.find("no function that chooses") != std::string_view::npos;
    if (level == LogLevel::error && missing) notes_.write("missing");
  };
  Pool elder = open(plain);
  ASSERT_TRUE(elder.add_worker(std::make_shared<Resident>(notes_), named("elder")));
  Pool younger = open(choosing);
  ASSERT_TRUE(younger.add_worker(std::make_shared<Resident>(notes_), named("younger")));
  ASSERT_TRUE(founder.close(kPatience));
  EXPECT_TRUE(notes_.wait_for("missing"));
  ASSERT_TRUE(younger.dispatch("k").value().wait_started(kPatience));
  EXPECT_EQ(younger.holder("k").value().worker, "younger");
}

// Jump hash by name, over the workers by age.
TEST_P(PoolMembers, JumpAssignment) {
  PoolOptions options = quick();
  options.assignment = Assignment::jump;
  Pool pool = open(options);
  for (const char* id : {"first", "second"}) {
    ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_), named(id)));
  }
  dispatch_all(pool, 40);
  const std::vector<std::string> by_age{"first", "second", "third"};
  int moved = 0;
  for (const auto& [key, worker] : holders(pool)) {
    EXPECT_EQ(worker, by_age[jump_choose(hash_bytes(key), 2)]) << key;
    moved += jump_choose(hash_bytes(key), 3) == 2 ? 1 : 0;
  }
  // A third one gets what jump hash gives it, and nothing else moves.
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_), named("third")));
  ASSERT_TRUE(notes_.wait_lines(40 + 2 * static_cast<std::size_t>(moved)));
  ASSERT_TRUE(pool.drain("nobody"));  // makes sure that the last start has been read
  for (const auto& [key, worker] : holders(pool)) EXPECT_EQ(worker, by_age[jump_choose(hash_bytes(key), 3)]) << key;
}

// A worker of another process can be drained: its keys go elsewhere, and it stays empty.
TEST_P(PoolMembers, Drain) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_, "a "), named("a")));
  dispatch_all(pool, 10);
  Pool other = open();
  ASSERT_TRUE(other.add_worker(std::make_shared<Resident>(notes_, "b "), named("b")));
  ASSERT_TRUE(other.drain("a"));
  for (int i = 0; i < 10; ++i) {
    const std::string key = "key-" + std::to_string(i);
    EXPECT_TRUE(notes_.wait_for("b start " + key + " from a blob of " + key));
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, PoolMembers, testing::ValuesIn(pool_engines()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::conformance
