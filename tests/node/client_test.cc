// A dispatcher without state, beside real members on a real engine.

#include "node/client.h"

#include <gtest/gtest.h>

#include "node/live_node.h"

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
  bool folding() {
    bool folds = false;
    loop_.run([&] { folds = client_->folding(); });
    return folds;
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

  std::string url_;
  std::unique_ptr<Log> keeper_;
  Journal journal_;
};

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
  EXPECT_FALSE(client.folding());
}

// Where nobody is there to answer, the client folds the log itself and knows.
TEST_F(ClientTest, FoldsTheLogWhereNobodyAnswers) {
  LiveClient client(url_, journal_, 10ms);
  const std::uint64_t first = client.dispatch("r", JobKind::resident);
  EXPECT_TRUE(reached(first, TicketState::accepted));
  const std::uint64_t second = client.dispatch("r", JobKind::resident);
  EXPECT_TRUE(reached(second, TicketState::refused));
  EXPECT_EQ(journal_.refusals[second], Errc::key_exists);
  EXPECT_TRUE(client.folding());
  const auto member = node("a");
  EXPECT_TRUE(reached(first, TicketState::started));
}

// Many tickets of one client are under way together.
TEST_F(ClientTest, ManyAtOnce) {
  const auto a = node("a");
  const auto b = node("b");
  LiveClient client(url_, journal_);
  std::vector<std::uint64_t> tickets;
  for (int i = 0; i < 500; ++i) tickets.push_back(client.dispatch("t-" + std::to_string(i % 50), JobKind::task, "x"));
  for (const std::uint64_t ticket : tickets) EXPECT_TRUE(reached(ticket, TicketState::done));
}

}  // namespace
}  // namespace tenure
