// Explains what a cluster's settings mean for a pool.

#include <charconv>

#include "log/kafka/inspection.h"

namespace tenure::kafka {
namespace {

// Kafka's default. It fits into the default lease of a pool, with the time that a broker takes to start.
constexpr int kSessionMsMax = 9000;

std::string setting(const std::optional<TopicSettings>& settings, const std::string& name) {
  if (!settings) return "";
  const auto found = settings->find(name);
  return found == settings->end() ? "" : found->second;
}

int number(const std::string& text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The loss if one broker's disk fails.
Finding replication(const ClusterFacts& facts) {
  const std::string copies = std::to_string(facts.replicas) + (facts.replicas == 1 ? " copy" : " copies");
  if (facts.replicas < 2) {
    return {"replication", false,
            "1 copy of the log: if its broker's disk is lost, or its host without power, so are jobs",
            "use three brokers, and move the topics to them with kafka-reassign-partitions.sh; new pools then get 3 "
            "copies"};
  }
  const bool all = facts.in_sync == facts.replicas;
  return {"replication", all, copies + " of the log, " + std::to_string(facts.in_sync) + " in sync",
          "bring the missing brokers back"};
}

// Whether an acknowledged job is on more than one broker.
Finding acknowledgement(const ClusterFacts& facts, const std::string& brokers) {
  const std::string value = setting(facts.settings, "min.insync.replicas");
  const int minimum = number(value);
  if (minimum >= 2 || facts.replicas < 2) {
    return {"acknowledged jobs", true,
            "min.insync.replicas=" + value + ": acknowledged jobs are on at least " + std::to_string(minimum) +
                (minimum == 1 ? " broker" : " brokers"),
            ""};
  }
  return {"acknowledged jobs", false,
          "min.insync.replicas=1: if the only broker in sync is lost, so are jobs that it has acknowledged",
          alter_command(brokers, facts.topic, "min.insync.replicas=2")};
}

Finding election(const ClusterFacts& facts, const std::string& brokers) {
  const bool unclean = setting(facts.settings, "unclean.leader.election.enable") == "true";
  return {"failover", !unclean,
          unclean ? "unclean.leader.election.enable=true: a failover may lose acknowledged jobs; the pool detects it, "
                    "and continues from there"
                  : "a failover loses no acknowledged jobs (no unclean election)",
          alter_command(brokers, facts.topic, "unclean.leader.election.enable=false")};
}

Finding session(const ClusterFacts& facts) {
  const std::string value = setting(facts.broker, "broker.session.timeout.ms");
  if (value.empty()) return {"killed brokers", true, "not checked: the user may not read the brokers' settings", ""};
  return {"killed brokers", number(value) <= kSessionMsMax,
          "broker.session.timeout.ms=" + value +
              ": a broker that was killed is out of service for as long, and a few " +
              "seconds more; the lease of workers must be longer",
          "set broker.session.timeout.ms=3000 and broker.heartbeat.interval.ms=500 on the brokers"};
}

std::string grant_command(const ClusterFacts& facts, const std::string& brokers, const std::string& operation) {
  return "kafka-acls.sh --bootstrap-server " + brokers + " --add --allow-principal User:NAME --operation " + operation +
         " --topic " + facts.topic;
}

// Reading and writing need no question: the check of the log has done both.
Finding rights(const ClusterFacts& facts, const std::string& brokers) {
  if (!facts.may_drop) {
    return {"rights", false, "the user may not delete records of " + facts.topic + ": the log grows without end",
            grant_command(facts, brokers, "Delete")};
  }
  if (!facts.settings) {
    return {"rights", false, "the user may not read the settings of " + facts.topic + ": not checked",
            grant_command(facts, brokers, "DescribeConfigs")};
  }
  return {"rights", true,
          facts.may_create
              ? "the user may trim and create the topics"
              : "the user may trim the topics, but not create them: after a shutdown, or if they are lost, "
                "an administrator has to",
          ""};
}

}  // namespace

std::vector<Finding> judge_facts(const ClusterFacts& facts, const std::string& brokers) {
  std::vector<Finding> findings;
  findings.push_back(
      {"cluster", true, std::to_string(facts.brokers) + (facts.brokers == 1 ? " broker" : " brokers"), ""});
  if (facts.replicas == 0) {
    findings.push_back({"topics", true, facts.topic + " does not exist yet: the first worker creates it", ""});
    return findings;
  }
  findings.push_back(replication(facts));
  findings.push_back(rights(facts, brokers));
  if (!facts.settings) return findings;
  findings.push_back(acknowledgement(facts, brokers));
  findings.push_back(election(facts, brokers));
  const auto faults = faults_of(facts.topic, true, kLogPartitions, *facts.settings, brokers);
  for (const TopicFault& fault : faults) findings.push_back({"topic", false, fault.what, fault.command});
  if (faults.empty()) findings.push_back({"topic", true, "no entry is dropped or compacted by the brokers", ""});
  findings.push_back(session(facts));
  return findings;
}

}  // namespace tenure::kafka
