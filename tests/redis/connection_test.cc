// A connection's life step by step, with servers that send exactly the test's bytes.

#include "log/redis/command.h"
#include "redis/connection_stage.h"

namespace tenure::redis {
namespace {

using namespace std::chrono_literals;
using RedisLink = ConnectionStage;

TEST_F(RedisLink, ConnectsWhenThereIsSomethingToAskAndPipelines) {
  connect_by("redis://h:1");
  EXPECT_TRUE(transport_.peers.empty());
  ask("ONE");
  ask("TWO");
  greet();
  EXPECT_EQ(server().take(), command({"ONE"}) + command({"TWO"}));
  server().say("+on");
  server().say("e\r\n+two\r\n");
  EXPECT_EQ(answers_, (Answers{"one", "two"}));
  EXPECT_EQ(transport_.peers.size(), 1U);
}

TEST_F(RedisLink, LogsInAndChoosesTheDatabaseFirst) {
  connect_by("redis://user:secret@h:1/5");
  ask("ONE");
  server().accept();
  EXPECT_EQ(server().take(), command({"AUTH", "user", "secret"}) + command({"SELECT", "5"}));
  server().say("+OK\r\n");
  EXPECT_EQ(server().take(), "");
  server().say("+OK\r\n");
  EXPECT_EQ(server().take(), command({"ONE"}));
}

// It repeats what it was given, and nobody must see it.
TEST_F(RedisLink, AServerThatDoesNotKnowLoginsDoesNotLeakThePassword) {
  connect_by("redis://user:secret@h:1");
  std::string said;
  connection().send("ask", command({"X"}), [&](const Result<Reply>& reply) { said = reply.error().message(); });
  loop_.settle();
  server().accept();
  server().say("-ERR unknown command 'AUTH', with args beginning with: 'user' 'secret'\r\n");
  EXPECT_NE(said.find("refused"), std::string::npos);
  EXPECT_EQ(said.find("secret"), std::string::npos) << said;
}

TEST_F(RedisLink, WhatWasSentIsUnknownWhenTheConnectionBreaksAndTheNextGoesByANewOne) {
  connect_by("redis://h:1");
  ask("ONE");
  greet();
  server().hang_up();
  EXPECT_EQ(answers_, (Answers{"unknown"}));
  ask("TWO");
  EXPECT_EQ(transport_.peers.size(), 1U);  // it rests a moment
  loop_.advance(10ms);
  ASSERT_EQ(transport_.peers.size(), 2U);
  greet();
  EXPECT_EQ(server().take(), command({"TWO"}));
}

TEST_F(RedisLink, WhatWaitsIsAnsweredWhenNoConnectionCanBeMadeAndPausesGrow) {
  connect_by("redis://h:1");
  Nanos pause = 0ns;
  for (int i = 0; i < 10; ++i) {
    ask("ONE");
    const std::size_t before = transport_.peers.size();
    pause = 0ns;
    for (; i > 0 && transport_.peers.size() == before; pause += 1ms) loop_.advance(1ms);
    server().hang_up();
  }
  EXPECT_EQ(answers_, Answers(10, "unavailable"));
  EXPECT_GT(pause, 200ms);
  EXPECT_LE(pause, 501ms);
}

TEST_F(RedisLink, AServerThatAcceptsAndSaysNothingIsGivenUp) {
  connect_by("redis://h:1?timeout=100");
  ask("ONE");
  server().accept();
  loop_.advance(99ms);
  EXPECT_TRUE(answers_.empty());
  loop_.advance(2ms);
  EXPECT_EQ(answers_, (Answers{"unavailable"}));
  EXPECT_FALSE(transport_.peers.front()->open());
}

TEST_F(RedisLink, AServerThatFallsSilentIsGivenUpAndPatienceIsCounted) {
  connect_by("redis://h:1?timeout=100");
  ask("BLOCKING", 1000ms);
  greet();
  loop_.advance(1499ms);
  EXPECT_TRUE(answers_.empty());
  loop_.advance(2ms);
  EXPECT_EQ(answers_, (Answers{"unknown"}));
}

// Patience and timeout do not add up: a reader that only waits notices a dead connection in time.
TEST_F(RedisLink, PatienceAndTimeoutAreNotAddedUp) {
  connect_by("redis://h:1?timeout=2000");
  ask("BLOCKING", 1000ms);
  greet();
  loop_.advance(1999ms);
  EXPECT_TRUE(answers_.empty());
  loop_.advance(2ms);
  EXPECT_EQ(answers_, (Answers{"unknown"}));
}

TEST_F(RedisLink, AnIdleConnectionIsNotGivenUp) {
  connect_by("redis://h:1?timeout=100");
  ask("ONE");
  greet();
  server().say("+one\r\n");
  loop_.advance(1h);
  EXPECT_TRUE(server().open());
  ask("TWO");
  loop_.advance(99ms);
  EXPECT_TRUE(server().open());
  server().say("+two\r\n");
  EXPECT_EQ(answers_, (Answers{"one", "two"}));
}

TEST_F(RedisLink, AFailedProofIsLostHistoryToAllThatWait) {
  connect_by("redis://h:1");
  proof_ = command({"PROVE"});
  ask("ONE");
  ask("TWO");
  server().accept();
  EXPECT_EQ(server().take(), command({"PROVE"}));
  server().say("-TENURE-LOST the last entries are gone\r\n");
  EXPECT_EQ(lost_, (std::vector<Errc>{Errc::lost_history}));
  EXPECT_EQ(answers_, (Answers{"lost_history", "lost_history"}));
}

TEST_F(RedisLink, AServerThatHasBecomeAReplicaIsLeft) {
  connect_by("redis://h:1");
  ask("ONE");
  ask("TWO");
  greet();
  server().say("-READONLY You can't write against a read only replica.\r\n");
  EXPECT_EQ(answers_, (Answers{"unavailable", "unknown"}));
  EXPECT_FALSE(transport_.peers.front()->open());
}

TEST_F(RedisLink, ADroppedConnectionAnswersAtOnceAndIsNotWaitedFor) {
  connect_by("redis://h:1");
  ask("ONE", 1000ms);
  greet();
  connection().drop({Errc::closed, "test", ""});
  EXPECT_EQ(answers_, (Answers{"unknown"}));
  EXPECT_FALSE(server().open());
  ask("TWO");
  EXPECT_EQ(transport_.peers.size(), 2U);
}

// The first sentinel is dead, the second knows the master, which must say itself that it is one.
TEST_F(RedisLink, AsksOneSentinelAfterTheOther) {
  connect_by("redis+sentinel://a,b/main");
  ask("ONE");
  EXPECT_EQ(server().endpoint.address, (net::Address{"a", 26379}));
  server().hang_up();
  EXPECT_EQ(server().endpoint.address, (net::Address{"b", 26379}));
  server().accept();
  EXPECT_EQ(server().take(), command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"}));
  server().say("*2\r\n$8\r\n10.0.0.7\r\n$4\r\n6380\r\n");
  EXPECT_EQ(server().endpoint.address, (net::Address{"10.0.0.7", 6380}));
  server().accept();
  EXPECT_EQ(server().take(), command({"ROLE"}));
  server().say("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
  EXPECT_EQ(server().take(), command({"ONE"}));
}

TEST_F(RedisLink, AReplicaThatSentinelsStillNameIsNotUsed) {
  connect_by("redis+sentinel://a/main");
  ask("ONE");
  server().accept();
  server().say("*2\r\n$8\r\n10.0.0.7\r\n$4\r\n6380\r\n");
  server().accept();
  server().say("*1\r\n$5\r\nslave\r\n");
  EXPECT_EQ(answers_, (Answers{"unavailable"}));
  ask("TWO");
  loop_.advance(20ms);
  EXPECT_EQ(server().endpoint.address, (net::Address{"a", 26379}));
}

TEST_F(RedisLink, AServiceThatNoSentinelKnowsIsUnavailable) {
  connect_by("redis+sentinel://a,b/main");
  ask("ONE");
  for (int i = 0; i < 2; ++i) {
    server().accept();
    server().say("*-1\r\n");
  }
  EXPECT_EQ(answers_, (Answers{"unavailable"}));
}

// A dead connection accepts bytes for a long time. A client that keeps sending must still notice that no answers come.
TEST_F(RedisLink, ASilentServerIsLeftHoweverMuchIsStillSentToIt) {
  connect_by("redis://h:1?timeout=1000");
  ask("ONE");
  greet();
  server().swallow();
  for (int i = 0; i < 9; ++i) {
    loop_.advance(100ms);
    server().take();
    ask("MORE");
    server().swallow();
  }
  EXPECT_TRUE(answers_.empty());
  loop_.advance(200ms);
  EXPECT_EQ(answers_.size(), 10U);
  EXPECT_EQ(answers_.front(), to_string(Errc::unknown));
}

// A large request on a slow line is not silence.
TEST_F(RedisLink, ARequestThatIsStillOnItsWayHasTime) {
  connect_by("redis://h:1?timeout=1000");
  ask(std::string(100'000, 'x'));
  greet();
  for (int i = 0; i < 20; ++i) {
    loop_.advance(200ms);
    transport_.last().events->progressed(4000);
  }
  EXPECT_TRUE(answers_.empty());
  loop_.advance(1100ms);
  EXPECT_EQ(answers_.size(), 1U);
}

// A cluster's server that does not keep the pool names the one that does.
TEST_F(RedisLink, FollowsACluster) {
  proof_ = command({"EXISTS", "k"});
  connect_by("redis://h:1");
  ask("ONE");
  server().accept();
  server().say("-MOVED 7 other:2\r\n");
  ASSERT_EQ(transport_.peers.size(), 2U);
  EXPECT_EQ(server().endpoint.address, (net::Address{"other", 2}));
  server().accept();
  server().say("-MOVED 7 :3\r\n");  // on the same host
  EXPECT_EQ(server().endpoint.address, (net::Address{"other", 3}));
  server().accept();
  server().say(":0\r\n");
  loop_.settle();
  server().take();
  server().say("+one\r\n");
  EXPECT_EQ(answers_, (Answers{"one"}));
}

// The pool has moved on while the connection stood: the answer is in no doubt, and the next request goes after it.
TEST_F(RedisLink, FollowsAPoolThatAClusterMoves) {
  proof_ = command({"EXISTS", "k"});
  connect_by("redis://h:1");
  ask("ONE");
  server().accept();
  server().say(":0\r\n");
  loop_.settle();
  server().say("-MOVED 7 other:2\r\n");
  EXPECT_EQ(answers_, (Answers{std::string(to_string(Errc::unavailable))}));
  ask("TWO");
  loop_.advance(1s);
  EXPECT_EQ(server().endpoint.address, (net::Address{"h", 1}));
  server().accept();
  server().say("-MOVED 7 other:2\r\n");
  EXPECT_EQ(server().endpoint.address, (net::Address{"other", 2}));
  // And while that one cannot be reached, the first one is asked again.
  server().hang_up();
  EXPECT_EQ(answers_.size(), 2U);
  ask("THREE");
  loop_.advance(1s);
  EXPECT_EQ(server().endpoint.address, (net::Address{"h", 1}));
}

TEST_F(RedisLink, ServersThatPointAtEachOtherAreUnavailable) {
  proof_ = command({"EXISTS", "k"});
  connect_by("redis://h:1");
  ask("ONE");
  for (int i = 0; i < 20 && answers_.empty(); ++i) {
    server().accept();
    server().say("-MOVED 7 h:" + std::to_string(2 + i % 2) + "\r\n");
    loop_.settle();
  }
  EXPECT_EQ(answers_, (Answers{std::string(to_string(Errc::unavailable))}));
  EXPECT_LT(transport_.peers.size(), 10U);
}

}  // namespace
}  // namespace tenure::redis
