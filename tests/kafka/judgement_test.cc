// What codes, settings and tokens mean. No broker.

#include <gtest/gtest.h>

#include "log/engines.h"
#include "log/kafka/errors.h"
#include "log/kafka/inspection.h"
#include "log/kafka/settings.h"
#include "log/kafka/token.h"
#include "log/kafka/topics.h"

namespace tenure::kafka {
namespace {

Errc of(rd_kafka_resp_err_t code) { return error_of(code, "open", "kafka://h").code; }

TEST(KafkaErrors, WhatARetryCannotHelpIsRefused) {
  for (const auto code :
       {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR__AUTHENTICATION,
        RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_POLICY_VIOLATION, RD_KAFKA_RESP_ERR_INVALID_RECORD}) {
    EXPECT_EQ(of(code), Errc::refused) << rd_kafka_err2name(code);
  }
  for (const auto code :
       {RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR}) {
    EXPECT_EQ(of(code), Errc::unavailable) << rd_kafka_err2name(code);
  }
  EXPECT_EQ(error_of(RD_KAFKA_RESP_ERR__AUTHENTICATION, "open", "kafka://h", "said no").message(),
            "kafka open: refused (kafka://h: said no; check user, password and sasl=)");
}

// The machine drops what is sent twice, but only if it knows that it may be in the log.
TEST(KafkaErrors, AnAppendIsInDoubtUnlessItCannotHaveHappened) {
  const auto code = [](rd_kafka_resp_err_t error, rd_kafka_msg_status_t status) {
    return append_error_of(error, status, "kafka://h").code;
  };
  EXPECT_EQ(code(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_MSG_STATUS_NOT_PERSISTED), Errc::unavailable);
  EXPECT_EQ(code(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED), Errc::unknown);
  EXPECT_EQ(code(RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED),
            Errc::unknown);
  EXPECT_EQ(code(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_MSG_STATUS_NOT_PERSISTED), Errc::refused);
}

TEST(KafkaTopicNames, SayPoolAndShardAndNeverCollide) {
  EXPECT_EQ(TopicNames("tenure", "default", 0).log, "tenure.default.0");
  EXPECT_EQ(TopicNames("tenure", "default", 3).snapshots, "tenure.default.3.snapshots");
  EXPECT_EQ(TopicNames("p", "a b/ä.c_d", 0).log, "p.a_20b_2f_c3_a4_2ec_5fd.0");
  EXPECT_NE(TopicNames("p", "a.1", 0).log, TopicNames("p", "a", 1).log);
  const std::string one = TopicNames("p", std::string(1000, 'x') + "1", 255).snapshots;
  const std::string other = TopicNames("p", std::string(1000, 'x') + "2", 255).snapshots;
  EXPECT_LE(one.size(), 249U);
  EXPECT_NE(one, other);
}

TEST(KafkaTopicSettings, WhatTheEngineAsksForHasNoFault) {
  const TopicSettings good = {{"cleanup.policy", "delete"},
                              {"retention.ms", "-1"},
                              {"retention.bytes", "-1"},
                              {"message.timestamp.type", "LogAppendTime"},
                              {"max.message.bytes", "1048588"}};
  EXPECT_TRUE(faults_of("t", true, 1, good, "b:1").empty());
  TopicSettings other = good;
  other["message.timestamp.type"] = "CreateTime";
  EXPECT_EQ(faults_of("t", true, 1, other, "b:1").size(), 1U);
  EXPECT_TRUE(faults_of("t", false, 2, other, "b:1").empty()) << "the times of chunks are of no use";
  other["cleanup.policy"] = "compact,delete";
  EXPECT_EQ(faults_of("t", true, 2, other, "b:1").size(), 3U);
  EXPECT_TRUE(faults_of("t", true, 1, TopicSettings(), "b:1").empty()) << "the user may not see them";
}

std::vector<std::string> complaints(const ClusterFacts& facts) {
  std::vector<std::string> names;
  for (const Finding& finding : judge_facts(facts, "b:1")) {
    if (!finding.ok) names.push_back(finding.name);
    EXPECT_EQ(finding.ok ? "" : "hint", finding.ok || finding.hint.empty() ? std::string() : "hint") << finding.name;
  }
  return names;
}

TEST(KafkaFacts, SayWhatCanBeLost) {
  ClusterFacts facts{.brokers = 3, .topic = "t", .replicas = 3, .in_sync = 3, .settings = {}, .broker = {}};
  facts.settings = {
      {"cleanup.policy", "delete"}, {"min.insync.replicas", "2"}, {"unclean.leader.election.enable", "false"}};
  facts.broker = TopicSettings{{"broker.session.timeout.ms", "9000"}};
  using Names = std::vector<std::string>;
  EXPECT_EQ(complaints(facts), Names{});
  facts.in_sync = 2;
  EXPECT_EQ(complaints(facts), Names{"replication"});
  facts.in_sync = 3;
  (*facts.settings)["min.insync.replicas"] = "1";
  EXPECT_EQ(complaints(facts), Names{"acknowledged jobs"});
  (*facts.settings)["min.insync.replicas"] = "2";
  (*facts.settings)["unclean.leader.election.enable"] = "true";
  EXPECT_EQ(complaints(facts), Names{"failover"});
  (*facts.settings)["unclean.leader.election.enable"] = "false";
  (*facts.settings)["retention.ms"] = "1000";
  EXPECT_EQ(complaints(facts), Names{"topic"});
  (*facts.settings)["retention.ms"] = "-1";
  (*facts.broker)["broker.session.timeout.ms"] = "30000";
  EXPECT_EQ(complaints(facts), Names{"killed brokers"});
  (*facts.broker)["broker.session.timeout.ms"] = "9000";
  facts.may_create = false;
  EXPECT_EQ(complaints(facts), Names{}) << "an administrator may create the topics";
  facts.may_drop = false;
  EXPECT_EQ(complaints(facts), Names{"rights"});
  facts.may_drop = true;
  facts.settings.reset();
  EXPECT_EQ(complaints(facts), Names{"rights"});
  facts.replicas = 1;
  facts.in_sync = 1;
  EXPECT_EQ(complaints(facts), (Names{"replication", "rights"}));
  facts.replicas = 0;
  EXPECT_EQ(complaints(facts), Names{});
}

TEST(KafkaTokens, SayWhenTheyExpireAndWhoseTheyAre) {
  // {"alg":"none"} . {"sub":"worker","exp":1700000000}
  const std::string token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ3b3JrZXIiLCJleHAiOjE3MDAwMDAwMDB9.";
  EXPECT_EQ(expiry_ms_of(token), 1'700'000'000'000);
  EXPECT_EQ(subject_of(token), "worker");
  for (const std::string_view strange : {"", ".", "..", "a.b.c", "a.!!!!.c", "opaque-token"}) {
    EXPECT_EQ(expiry_ms_of(strange), 0) << strange;
    EXPECT_EQ(subject_of(strange), "") << strange;
  }
}

// The log of a pool on a topic that other programs are to find.
TEST(KafkaTopicNames, MayBeThePoolsOwn) {
  const std::string url = own_name_url("kafka://b:9092");
  EXPECT_EQ(url, "kafka://b:9092?topics=own");
  EXPECT_EQ(own_name_url(url), url);
  EXPECT_EQ(own_name_url("kafka://b?timeout=500"), "kafka://b?timeout=500&topics=own");
  EXPECT_EQ(own_name_url("redis://b"), "redis://b");
  const auto settings = parse_settings(url);
  ASSERT_TRUE(settings);
  EXPECT_EQ(TopicNames(settings->prefix, "work_claims.eu", 0).log, "work_claims.eu");
  EXPECT_EQ(TopicNames(settings->prefix, "work_claims", 0).snapshots, "work_claims.snapshots");
  EXPECT_EQ(TopicNames(settings->prefix, "a/b", 2).log, "a_2fb.2");
  EXPECT_EQ(TopicNames("tenure", "a_b", 0).log, "tenure.a_5fb.0");
  EXPECT_FALSE(parse_settings("kafka://b?topics=mine"));
}

}  // namespace
}  // namespace tenure::kafka
