// Findings about a server's settings.

#include <gtest/gtest.h>

#include "log/redis/inspection.h"

namespace tenure::redis {
namespace {

ServerFacts sound() {
  ServerFacts facts;
  facts.version = "7.0.15";
  facts.role = "master";
  facts.used_memory = 1U << 20;
  facts.appendonly = "yes";
  facts.appendfsync = "always";
  facts.maxmemory = "0";
  facts.policy = "noeviction";
  facts.min_replicas = "0";
  return facts;
}

// The names of what is not ok.
std::vector<std::string> wrong(const ServerFacts& facts, bool sentinel = false, std::uint32_t wait_replicas = 0) {
  std::vector<std::string> names;
  for (const Finding& finding : judge_facts(facts, sentinel, wait_replicas)) {
    if (finding.ok) continue;
    EXPECT_FALSE(finding.hint.empty()) << finding.name;
    names.push_back(finding.name);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(RedisFacts, ASoundServerHasNothingWrong) { EXPECT_EQ(wrong(sound()), Names()); }

TEST(RedisFacts, WhatACrashCanLose) {
  ServerFacts facts = sound();
  facts.appendfsync = "everysec";
  EXPECT_EQ(wrong(facts), Names{"durability"});
  facts.appendonly = "no";
  facts.save = "3600 1";
  EXPECT_EQ(wrong(facts), Names{"durability"});
  facts.save = "";
  EXPECT_EQ(wrong(facts), Names{"durability"});
  facts.replicas = 1;
  facts.min_replicas = "1";
  EXPECT_EQ(wrong(facts, false, 1), Names());
}

TEST(RedisFacts, WhatAFailoverCanLose) {
  ServerFacts facts = sound();
  facts.replicas = 2;
  EXPECT_EQ(wrong(facts), Names{"failover"});
  facts.min_replicas = "1";
  EXPECT_EQ(wrong(facts), Names{"failover"});
  EXPECT_EQ(wrong(facts, true, 1), Names());
  facts.replicas = 0;
  facts.min_replicas = "0";
  EXPECT_EQ(wrong(facts, true), Names{"failover"});
}

TEST(RedisFacts, KeysThatMayBeEvictedAndAServerThatIsNearlyFull) {
  ServerFacts facts = sound();
  facts.policy = "allkeys-lru";
  EXPECT_EQ(wrong(facts), Names());  // without a limit nothing is dropped
  facts.maxmemory = "104857600";
  EXPECT_EQ(wrong(facts), Names{"eviction"});
  facts.policy = "volatile-lru";  // the pool's keys have no time to live
  EXPECT_EQ(wrong(facts), Names());
  facts.used_memory = 100U << 20;
  EXPECT_EQ(wrong(facts), Names{"memory"});
}

TEST(RedisFacts, ServersThatAPoolCannotUse) {
  ServerFacts facts = sound();
  facts.version = "6.2.1";
  EXPECT_EQ(wrong(facts), Names{"version"});
  facts.version = "10.0.0";
  EXPECT_EQ(wrong(facts), Names());
  facts.role = "slave";
  EXPECT_EQ(wrong(facts), Names{"role"});
  facts.role = "master";
  facts.writes_fail = true;
  EXPECT_EQ(wrong(facts), Names{"server's disk"});
}

TEST(RedisFacts, WhatMayNotBeAskedIsSaidAndNotJudged) {
  const std::vector<Finding> findings = judge_facts({}, false, 0);
  ASSERT_EQ(findings.size(), 2U);
  for (const Finding& finding : findings) EXPECT_TRUE(finding.ok);
}

}  // namespace
}  // namespace tenure::redis
