// Credentials are replaced while a log is open: each connection reads them again, and a refusal is tolerated for a
// while.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "log/redis/command.h"
#include "log/redis/connection.h"
#include "redis/scripted_server.h"

namespace tenure::redis {
namespace {

using namespace std::chrono_literals;

class RedisCredentials : public testing::Test {
 protected:
  void SetUp() override { write("first"); }
  void TearDown() override { std::remove(path_.c_str()); }

  void write(const std::string& password) const {
    std::ofstream(path_ + ".new") << password << '\n';
    ASSERT_EQ(std::rename((path_ + ".new").c_str(), path_.c_str()), 0);
  }
  void connect_by(const std::string& url) {
    settings_ = parse_settings(url).value();
    connection_.emplace(
        World{loop_, transport_, entropy_, admission_}, settings_, [this] { return Greeting(settings_, {}, {}); },
        [](const Error&) {});
  }
  Peer& server() { return transport_.last(); }

  // Asks until a connection is there to be greeted; the answer is noted.
  void ask() {
    const std::size_t before = transport_.peers.size();
    connection_->send("ask", command({"ONE"}), [this](const Result<Reply>& reply) {
      answers_.push_back(reply ? "yes" : std::string(to_string(reply.error().code)));
      said_ = reply ? "" : reply.error().context;
    });
    loop_.settle();
    for (int i = 0; i < 1000 && transport_.peers.size() == before; ++i) loop_.advance(1ms);
    ASSERT_EQ(transport_.peers.size(), before + 1);
  }
  void log_in(const std::string& password) {
    server().accept();
    EXPECT_EQ(server().take(), command({"AUTH", "default", password}));
    server().say("+OK\r\n");
    server().take();
    server().say("+yes\r\n");
  }
  void refuse() {
    server().accept();
    server().say("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  }

  const std::string path_ = testing::TempDir() + "tenure-credentials-" + std::to_string(getpid());
  ManualLoop loop_;
  ScriptedTransport transport_;
  SeededEntropy entropy_{1};
  Admission admission_;
  RedisSettings settings_;
  std::vector<std::string> answers_;
  std::string said_;
  std::optional<Connection> connection_;
};

TEST_F(RedisCredentials, EachConnectionReadsThePasswordAnew) {
  connect_by("redis://h:1?password_file=" + path_);
  ask();
  log_in("first");
  server().hang_up();
  write("second");
  ask();
  log_in("second");
  EXPECT_EQ(answers_, (std::vector<std::string>{"yes", "yes"}));
}

TEST_F(RedisCredentials, TheEnvironmentMayNameTheFile) {
  setenv("TENURE_REDIS_PASSWORD_FILE", path_.c_str(), 1);
  setenv("TENURE_REDIS_SENTINEL_PASSWORD_FILE", path_.c_str(), 1);
  setenv("TENURE_REDIS_USER", "worker", 1);
  connect_by("redis+sentinel://s/main");
  unsetenv("TENURE_REDIS_PASSWORD_FILE");
  unsetenv("TENURE_REDIS_SENTINEL_PASSWORD_FILE");
  unsetenv("TENURE_REDIS_USER");
  ask();
  write("second");
  server().accept();
  const Bytes question = command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"});
  EXPECT_EQ(server().take(), command({"AUTH", "default", "second"}) + question);
  server().say("+OK\r\n*2\r\n$1\r\nm\r\n$1\r\n7\r\n");
  write("third");
  server().accept();
  EXPECT_EQ(server().take(), command({"AUTH", "worker", "third"}) + command({"ROLE"}));
}

TEST_F(RedisCredentials, AtOpeningARefusalIsSaidAtOnce) {
  connect_by("redis://h:1?password_file=" + path_);
  ask();
  refuse();
  EXPECT_EQ(answers_, (std::vector<std::string>{"refused"}));
}

// The same where the file has gone, or is being written, between two connections.
TEST_F(RedisCredentials, ARefusalIsBorneForAWhileOnceTheLogWasOpen) {
  connect_by("redis://h:1?password_file=" + path_);
  ask();
  log_in("first");
  server().hang_up();
  answers_.clear();
  const Instant since = loop_.now();
  while (loop_.now() - since < 55s) {
    ask();
    refuse();
    ASSERT_EQ(answers_, (std::vector<std::string>{"unavailable"}));
    EXPECT_NE(said_.find("login_patience"), std::string::npos) << said_;
    answers_.clear();
    loop_.advance(2s);
  }
  std::remove(path_.c_str());
  ask();
  server().accept();
  EXPECT_EQ(answers_, (std::vector<std::string>{"unavailable"}));
  loop_.advance(10s);
  write("second");
  answers_.clear();
  ask();
  refuse();
  EXPECT_EQ(answers_, (std::vector<std::string>{"refused"}));
  EXPECT_NE(said_.find("for 60 s"), std::string::npos) << said_;
}

TEST_F(RedisCredentials, WhoWasLetInAgainHasAllThePatienceAgain) {
  connect_by("redis://h:1?login_patience=5&password_file=" + path_);
  for (int round = 0; round < 3; ++round) {
    ask();
    log_in("first");
    server().hang_up();
    for (int i = 0; i < 4; ++i) {
      ask();
      refuse();
      loop_.advance(1s);
    }
  }
  EXPECT_EQ(std::count(answers_.begin(), answers_.end(), "refused"), 0);
  EXPECT_EQ(std::count(answers_.begin(), answers_.end(), "unavailable"), 12);
}

// Refusals of two rotations, of which nobody asked in between, are not taken for one that has lasted.
TEST_F(RedisCredentials, OldRefusalsAreForgotten) {
  connect_by("redis://h:1?password_file=" + path_);
  ask();
  log_in("first");
  server().hang_up();
  for (int i = 0; i < 3; ++i) {
    ask();
    refuse();
    loop_.advance(1h);
  }
  EXPECT_EQ(answers_, (std::vector<std::string>{"yes", "unavailable", "unavailable", "unavailable"}));
}

TEST_F(RedisCredentials, WithoutPatienceARefusalEndsIt) {
  connect_by("redis://h:1?login_patience=0&password_file=" + path_);
  ask();
  log_in("first");
  server().hang_up();
  ask();
  refuse();
  EXPECT_EQ(answers_, (std::vector<std::string>{"yes", "refused"}));
}

// A certificate that is not trusted is a matter of the same kind.
TEST_F(RedisCredentials, SoIsACertificateThatIsNotTrusted) {
  connect_by("rediss://:secret@h:1");
  ask();
  log_in("secret");
  server().hang_up();
  ask();
  std::exchange(server().events, nullptr)->broken({Errc::refused, "redis connect", "TLS: certificate verify failed"});
  EXPECT_EQ(answers_, (std::vector<std::string>{"yes", "unavailable"}));
}

// A connection that the server has logged out is made again.
TEST_F(RedisCredentials, AConnectionThatWasLoggedOutIsMadeAnew) {
  connect_by("redis://h:1?password_file=" + path_);
  ask();
  log_in("first");
  connection_->send("ask", command({"TWO"}),
                    [this](const Result<Reply>& reply) { answers_.emplace_back(to_string(reply.error().code)); });
  loop_.settle();
  server().say("-NOAUTH Authentication required.\r\n");
  EXPECT_EQ(answers_, (std::vector<std::string>{"yes", "unavailable"}));
  EXPECT_FALSE(server().open());
  write("second");
  ask();
  log_in("second");
}

}  // namespace
}  // namespace tenure::redis
