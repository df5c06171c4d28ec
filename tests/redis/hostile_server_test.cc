// Servers that are not Redis, or send nonsense: a connection to them ends in time and without harm.

#include "log/redis/command.h"
#include "redis/connection_stage.h"

namespace tenure::redis {
namespace {

using namespace std::chrono_literals;
using RedisHostile = ConnectionStage;

TEST_F(RedisHostile, BytesOfAnotherProtocolEndTheConnection) {
  connect_by("redis://h:1");
  ask("ONE");
  server().accept();
  server().say("HTTP/1.1 400 Bad Request\r\n");
  EXPECT_EQ(answers_, (Answers{"unavailable"}));
}

// Single bytes from time to time are not an answer.
TEST_F(RedisHostile, AServerThatAcceptsAndIsSlowOfSpeechIsGivenUp) {
  connect_by("redis://h:1?timeout=100");
  ask("ONE");
  server().accept();
  for (int i = 0; i < 10 && answers_.empty(); ++i) {
    server().say(i == 0 ? "+" : "x");
    loop_.advance(50ms);
  }
  EXPECT_EQ(answers_, (Answers{"unavailable"}));
}

TEST_F(RedisHostile, ASentinelThatTalksNonsenseIsNotFollowed) {
  for (const std::string& answer :
       {"*2\r\n$300\r\n" + std::string(300, 'h') + "\r\n$1\r\n1\r\n", std::string("*2\r\n$3\r\na b\r\n$1\r\n1\r\n"),
        std::string("$60000000\r\n"), std::string("*2\r\n*1\r\n"),
        std::string("-ERR ") + std::string(5000, 'x') + "\r\n"}) {
    connect_by("redis+sentinel://a/main");
    connection().send("ask", command({"ONE"}), [&](const Result<Reply>& reply) {
      answers_.emplace_back(to_string(reply.error().code));
      EXPECT_LT(reply.error().message().size(), 1000U);
    });
    loop_.settle();
    server().accept();
    server().say(answer);
    if (answers_.empty()) server().hang_up();
    EXPECT_EQ(answers_.size(), 1U) << answer.substr(0, 40);
    answers_.clear();
  }
  EXPECT_EQ(transport_.peers.size(), 5U);
}

// Neither does a server of a cluster.
TEST_F(RedisHostile, ARedirectionToNoHostIsNotFollowed) {
  proof_ = command({"EXISTS", "k"});
  connect_by("redis://h:1");
  for (const std::string& host : {std::string("a%b"), std::string("a\x01"), std::string(300, 'h')}) {
    ask("ONE");
    loop_.advance(1s);
    server().accept();
    server().say("-MOVED 7 " + host + ":2\r\n");
    EXPECT_EQ(server().endpoint.address, (net::Address{"h", 1}));
  }
  EXPECT_EQ(answers_, (Answers(3, "unavailable")));
}

}  // namespace
}  // namespace tenure::redis
