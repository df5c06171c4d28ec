// A dispatcher without state, with real members on a real engine.

#include "node/client/client.h"

#include <gtest/gtest.h>

#include <future>

#include "node/keys/listing.h"
#include "node/live_node.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;

class LiveClient final : private ClientEvents {
 public:
  LiveClient(const std::string& url, Journal& journal, Nanos patience = 1s) : journal_(journal), loop_("client") {
    log_ = *open_log(url, {});
    loop_.run([&] {
      client_ = std::make_unique<Client>(*log_, loop_, clock_, entropy_, static_cast<ClientEvents&>(*this), patience);
    });
  }
  ~LiveClient() override {
    log_->close();
    loop_.run([&] { client_.reset(); });
  }

  std::uint64_t dispatch(const Bytes& key, JobKind kind, const Bytes& payload = "") {
    return ask({.job = kind, .key = key, .text = payload});
  }
  std::uint64_t ask(const Request& request) {
    std::uint64_t ticket = 0;
    loop_.run([&] { ticket = *client_->ask(request); });
    return ticket;
  }
  // What a member tells; nothing if none does in time.
  std::optional<v1::Told> inquire(const v1::Ask& ask, std::chrono::milliseconds patience = 20s) {
    const auto told = std::make_shared<std::promise<v1::Told>>();
    std::future<v1::Told> answer = told->get_future();
    std::uint64_t question = 0;
    loop_.run([&] { question = client_->inquire(ask, [told](v1::Told text) { told->set_value(std::move(text)); }); });
    const bool came = answer.wait_for(patience) == std::future_status::ready;
    loop_.run([&] { client_->forget(question); });
    return came ? std::optional(answer.get()) : std::nullopt;
  }
  // All in one entry.
  void inquire_together(const v1::Ask& ask, int times) {
    loop_.run([&] {
      for (int i = 0; i < times; ++i) client_->inquire(ask, [](const v1::Told&) {});
    });
  }
  bool keeps_state() {
    bool keeps = false;
    loop_.run([&] { keeps = client_->keeps_state(); });
    return keeps;
  }

 private:
  void settled(const Settlement& settlement) override {
    journal_.change([&](Journal& journal) {
      journal.tickets[settlement.ticket].push_back(settlement.state);
      journal.texts[settlement.ticket] = settlement.text;
      journal.refusals[settlement.ticket] = settlement.code;
    });
  }
  void ticket_lost(std::uint64_t ticket) override {
    journal_.change([&](Journal& journal) { journal.problems.push_back("lost " + std::to_string(ticket)); });
  }
  void broken(const Error& error) override {
    journal_.change([&](Journal& journal) { journal.problems.push_back(error.message()); });
  }

  Journal& journal_;
  BootClock clock_;
  SystemEntropy entropy_;
  std::unique_ptr<Log> log_;
  ThreadLoop loop_;
  std::unique_ptr<Client> client_;
};

class ClientTest : public testing::Test {
 protected:
  ClientTest() {
    static int count = 0;
    url_ = "memory:client_test_" + std::to_string(++count);
    // A log in memory lives as long as somebody has it open.
    keeper_ = *open_log(url_, {});
  }
  ~ClientTest() override { EXPECT_EQ(journal_.problems, std::vector<std::string>()); }

  std::unique_ptr<LiveNode> node(const std::string& name) {
    NodeOptions options;
    options.lease = 1s;
    options.config.backoff_base_ms = 1;
    options.config.max_attempts = 2;
    auto made = std::make_unique<LiveNode>(name, url_, journal_, options);
    made->with([&](Node& node) { node.add_worker({.id = "w-" + name, .replaces = {}, .serves = {}}); });
    EXPECT_TRUE(journal_.wait([&](const Journal& journal) { return journal.members.contains(name); }));
    return made;
  }
  bool reached(std::uint64_t ticket, TicketState state) {
    return journal_.wait([&](const Journal& journal) {
      const auto found = journal.tickets.find(ticket);
      return found != journal.tickets.end() && !found->second.empty() && found->second.back() == state;
    });
  }

  // How often somebody told something.
  int told() {
    int count = 0;
    Cursor at;
    const Position end = append_nothing();
    while (at.position < end) {
      std::promise<std::vector<Entry>> read;
      keeper_->read(at, [&](Result<std::vector<Entry>> entries) { read.set_value(*std::move(entries)); });
      for (const Entry& entry : read.get_future().get()) {
        v1::Batch batch;
        if (batch.ParseFromString(entry.data)) {
          count += static_cast<int>(std::count_if(batch.records().begin(), batch.records().end(),
                                                  [](const v1::Record& record) { return record.has_told(); }));
        }
        at = Cursor::at(entry);
      }
    }
    return count;
  }

  std::string url_;
  std::unique_ptr<Log> keeper_;
  Journal journal_;

 private:
  Position append_nothing() {
    std::promise<Position> at;
    keeper_->append(Lane::data, "", [&](Result<Position> position) { at.set_value(*position); });
    return at.get_future().get();
  }
};

v1::Ask ask_for_jobs(std::uint32_t limit) {
  v1::Ask ask;
  ask.mutable_jobs()->set_limit(limit);
  return ask;
}

// Accepted, started and done are learnt from the log alone; no state is ever loaded.
TEST_F(ClientTest, HearsOfItsTicketsFromTheLog) {
  const auto member = node("a");
  LiveClient client(url_, journal_);
  const std::uint64_t task = client.dispatch("t", JobKind::task, "x");
  EXPECT_TRUE(reached(task, TicketState::done));
  EXPECT_EQ(journal_.texts[task], "done by a");
  EXPECT_TRUE(reached(client.dispatch("r", JobKind::resident), TicketState::started));
  const std::uint64_t again = client.dispatch("r", JobKind::resident);
  EXPECT_TRUE(reached(again, TicketState::refused));
  EXPECT_EQ(journal_.refusals[again], Errc::key_exists);
  const std::uint64_t failing = client.dispatch("t", JobKind::task, "fail");
  EXPECT_TRUE(reached(failing, TicketState::failed));
  EXPECT_TRUE(reached(client.ask({.kind = Request::Kind::stop, .key = "r"}), TicketState::stopped));
  const std::uint64_t message = client.ask({.kind = Request::Kind::notify, .key = "nobody"});
  EXPECT_TRUE(reached(message, TicketState::refused));
  EXPECT_EQ(journal_.refusals[message], Errc::no_such_key);
  EXPECT_FALSE(client.keeps_state());
}

// Where nobody is there to answer, the client loads the state and knows.
TEST_F(ClientTest, LoadsTheStateWhereNobodyAnswers) {
  LiveClient client(url_, journal_, 10ms);
  const std::uint64_t first = client.dispatch("r", JobKind::resident);
  EXPECT_TRUE(reached(first, TicketState::accepted));
  const std::uint64_t second = client.dispatch("r", JobKind::resident);
  EXPECT_TRUE(reached(second, TicketState::refused));
  EXPECT_EQ(journal_.refusals[second], Errc::key_exists);
  EXPECT_TRUE(client.keeps_state());
  const auto member = node("a");
  EXPECT_TRUE(reached(first, TicketState::started));
}

// Many tickets of one client are under way together.
TEST_F(ClientTest, ManyAtOnce) {
  const auto a = node("a");
  const auto b = node("b");
  LiveClient client(url_, journal_);
  constexpr int kDispatched = 500;
  std::vector<std::uint64_t> tickets;
  tickets.reserve(kDispatched);
  for (int i = 0; i < kDispatched; ++i)
    tickets.push_back(client.dispatch("t-" + std::to_string(i % 50), JobKind::task, "x"));
  for (const std::uint64_t ticket : tickets) EXPECT_TRUE(reached(ticket, TicketState::done));
}

// Page by page, from the state of a member, without one of its own.
TEST_F(ClientTest, IsToldWhatTheStateSays) {
  const auto a = node("a");
  const auto b = node("b");
  LiveClient client(url_, journal_);
  for (int i = 0; i < 50; ++i) a->dispatch("r-" + std::to_string(i), JobKind::resident);
  ASSERT_TRUE(journal_.wait([](const Journal& journal) { return journal.holder.size() == 50; }));

  v1::Ask ask = ask_for_jobs(20);
  std::map<Bytes, Bytes> holders;
  int pages = 0;
  for (std::uint32_t next = 1; next != 0; ++pages) {
    ask.mutable_jobs()->set_from(next - 1);
    const std::optional<v1::Told> page = client.inquire(ask);
    ASSERT_TRUE(page);
    EXPECT_LE(page->jobs_size(), 20);
    for (const v1::ListedJob& job : page->jobs()) EXPECT_TRUE(holders.emplace(job.key(), job.worker()).second);
    next = page->next_plus_one();
  }
  EXPECT_EQ(holders.size(), 50U);
  EXPECT_GE(pages, 3);
  for (const auto& [key, worker] : holders) EXPECT_EQ(worker, "w-" + journal_.holder[key]);

  ask = ask_for_jobs(100);
  ask.mutable_jobs()->set_worker("w-a");
  const auto held_by_a =
      std::count_if(holders.begin(), holders.end(), [](const auto& one) { return one.second == "w-a"; });
  EXPECT_EQ(client.inquire(ask)->jobs_size(), held_by_a);
  ask = ask_for_jobs(1);
  ask.mutable_jobs()->set_key("r-7");
  ASSERT_EQ(client.inquire(ask)->jobs_size(), 1);
  ask.mutable_jobs()->set_key("r-77");
  EXPECT_EQ(client.inquire(ask)->jobs_size(), 0);

  v1::Ask workers;
  workers.mutable_workers();
  const std::optional<v1::Told> told = client.inquire(workers);
  ASSERT_TRUE(told);
  ASSERT_EQ(told->workers_size(), 2);
  EXPECT_EQ(told->workers(0).keys() + told->workers(1).keys(), 50U);
  for (const v1::ListedWorker& worker : told->workers()) {
    EXPECT_GT(worker.lease_left_ms(), 0);
    EXPECT_LE(worker.lease_left_ms(), worker.lease_ms());
  }
  EXPECT_FALSE(client.keeps_state());
  EXPECT_EQ(this->told(), pages + 4);  // by one member each
}

// Who held a key, as far as a state keeps it; and whether that is all of late.
TEST_F(ClientTest, IsToldOfAKeysPast) {
  const auto first = node("a");
  LiveClient client(url_, journal_);
  EXPECT_TRUE(reached(client.dispatch("r", JobKind::resident), TicketState::started));
  EXPECT_TRUE(reached(client.dispatch("t", JobKind::task, "fail"), TicketState::failed));
  const auto second = node("b");
  first->with([](Node& node) { node.drain("w-a"); });
  ASSERT_TRUE(journal_.wait([](const Journal& journal) {
    const auto held = journal.holder.find("r");
    return held != journal.holder.end() && held->second == "b";
  }));
  v1::Ask ask;
  ask.mutable_history()->set_key("r");
  const std::optional<v1::Told> told = client.inquire(ask);
  ASSERT_TRUE(told);
  EXPECT_NE(told->question(), 0U);
  EXPECT_TRUE(told->history_known());
  ASSERT_EQ(told->jobs_size(), 1);
  ASSERT_EQ(told->history_size(), 2);
  EXPECT_EQ(told->history(0).worker(), "w-a");
  EXPECT_EQ(told->history(1).worker(), "w-b");
  EXPECT_GT(told->history(0).started_ms(), 0);
  EXPECT_GE(told->history(0).ended_ms(), told->history(0).started_ms());
  EXPECT_EQ(told->history(1).why_plus_one(), 0U);
  for (const char* key : {"t", "nobody"}) {
    ask.mutable_history()->set_key(key);
    const std::optional<v1::Told> nothing = client.inquire(ask);
    ASSERT_TRUE(nothing);
    EXPECT_FALSE(nothing->history_known()) << key;
    EXPECT_EQ(nothing->history_size(), 0) << key;
  }
}

// Dead letters, ordered by id, and where to continue.
TEST_F(ClientTest, IsToldOfTheDead) {
  const auto member = node("a");
  LiveClient client(url_, journal_);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(reached(client.dispatch("t-" + std::to_string(i), JobKind::task, "fail"), TicketState::failed));
  }
  v1::Ask ask;
  ask.mutable_dead()->set_limit(3);
  ask.mutable_dead()->set_payloads(true);
  const std::optional<v1::Told> first = client.inquire(ask);
  ASSERT_TRUE(first);
  ASSERT_EQ(first->dead_size(), 3);
  EXPECT_TRUE(first->more_dead());
  EXPECT_EQ(first->dead(0).payload(), "fail");
  EXPECT_LT(first->dead(0).id(), first->dead(1).id());
  ask.mutable_dead()->set_after(first->dead(2).id());
  ask.mutable_dead()->set_payloads(false);
  const std::optional<v1::Told> second = client.inquire(ask);
  ASSERT_TRUE(second);
  ASSERT_EQ(second->dead_size(), 2);
  EXPECT_FALSE(second->more_dead());
  EXPECT_EQ(second->dead(0).payload(), "");
}

// An answer is bounded, whatever the question.
TEST_F(ClientTest, IsToldOnlySoMuchAtATime) {
  const auto member = node("a");
  LiveClient client(url_, journal_);
  for (int i = 0; i < 300; ++i) member->dispatch(std::to_string(i) + std::string(1000, 'x'), JobKind::resident);
  ASSERT_TRUE(journal_.wait([](const Journal& journal) { return journal.holder.size() == 300; }));
  const std::optional<v1::Told> told = client.inquire(ask_for_jobs(1'000'000));
  ASSERT_TRUE(told);
  EXPECT_LT(told->ByteSizeLong(), kToldBytesMax * 2);
  EXPECT_NE(told->next_plus_one(), 0U);
}

// The answers of one entry are bounded, so that clients cannot keep a member from its work.
TEST_F(ClientTest, IsNotToldEverythingAtOnce) {
  const auto member = node("a");
  LiveClient client(url_, journal_);
  client.inquire_together(ask_for_jobs(10), 100);
  EXPECT_TRUE(client.inquire(ask_for_jobs(10)));  // behind them
  EXPECT_GE(told(), 2);
  EXPECT_LE(told(), 20);
}

// Without members there is no answer, not even later.
TEST_F(ClientTest, IsToldNothingWhereNobodyIs) {
  LiveClient client(url_, journal_);
  EXPECT_FALSE(client.inquire(ask_for_jobs(10), 50ms));
  const auto member = node("a");
  EXPECT_EQ(told(), 0);
  EXPECT_TRUE(client.inquire(ask_for_jobs(10)));
  EXPECT_EQ(told(), 1);
}

}  // namespace
}  // namespace tenure
