// Explains what a server's settings mean for a pool.

#include <charconv>

#include "log/redis/inspection.h"

namespace tenure::redis {
namespace {

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Finding version(const ServerFacts& facts) {
  return {"version", number(facts.version) >= 7, "Redis " + facts.version, "use Redis 7.0 or newer"};
}

// What is lost if the server, or its host, crashes.
Finding durability(const ServerFacts& facts, std::uint32_t wait_replicas) {
  const std::string replicated = "; acknowledged jobs are also on " + std::to_string(wait_replicas) + " replicas";
  const bool copied = wait_replicas > 0 && facts.replicas >= wait_replicas;
  if (facts.appendonly == "yes" && facts.appendfsync == "always") {
    return {"durability", true, "acknowledged jobs survive a crash and a loss of power (appendfsync always)", ""};
  }
  Finding finding{.name = "durability", .ok = copied, .message = "", .hint = ""};
  if (facts.appendonly == "yes") {
    finding.message = "appendfsync " + facts.appendfsync +
                      ": if the server's host fails, up to a second of acknowledged jobs is lost";
    finding.hint = "CONFIG SET appendfsync always; or keep a replica elsewhere and add wait_replicas=1 to the URL";
  } else if (!facts.save.empty()) {
    finding.message = "appendonly no: if the server ends, everything since its last dump is lost";
    finding.hint = "CONFIG SET appendonly yes, and CONFIG SET appendfsync always to lose nothing";
  } else {
    finding.message = "the server writes nothing to its disk: if it ends, the pool is gone";
    finding.hint = "CONFIG SET appendonly yes, and CONFIG SET appendfsync always to lose nothing";
  }
  if (copied) finding.message += replicated;
  return finding;
}

Finding eviction(const ServerFacts& facts) {
  const bool drops = number(facts.maxmemory) > 0 && facts.policy.starts_with("allkeys");
  return {"eviction", !drops,
          drops ? "maxmemory-policy " + facts.policy + ": at maxmemory the server may evict the pool's log"
                : "the server evicts no key of the pool (maxmemory-policy " + facts.policy + ")",
          "CONFIG SET maxmemory-policy noeviction: a full server then refuses jobs instead of losing the pool"};
}

Finding memory(const ServerFacts& facts) {
  const std::uint64_t limit = number(facts.maxmemory);
  const std::string used = std::to_string(facts.used_memory >> 20) + " MiB used";
  if (limit == 0) return {"memory", true, used + ", no maxmemory", ""};
  return {"memory", facts.used_memory < limit / 10 * 9,
          used + " of " + std::to_string(limit >> 20) + " MiB (maxmemory)",
          "raise maxmemory, or free memory: a full server refuses jobs, but loses none"};
}

// What a failover loses, and whether a master that was cut off stops.
Finding failover(const ServerFacts& facts, bool sentinel, std::uint32_t wait_replicas) {
  if (!sentinel && facts.replicas == 0)
    return {"failover", true, "one server without replicas: there is no failover", ""};
  const bool guarded = number(facts.min_replicas) > 0;
  if (guarded && wait_replicas > 0) {
    return {"failover", true,
            "a failover loses no acknowledged jobs (wait_replicas=" + std::to_string(wait_replicas) +
                "), and a master that was cut off stops (min-replicas-to-write " + facts.min_replicas + ")",
            ""};
  }
  if (!guarded) {
    return {
        "failover", false,
        std::to_string(facts.replicas) +
            " replicas, min-replicas-to-write 0: a master that was cut off keeps accepting jobs, which are lost when "
            "it comes back",
        "CONFIG SET min-replicas-to-write 1 and min-replicas-max-lag to less than the lease, on every server"};
  }
  return {"failover", false,
          "a failover loses what the replica has not received; the pool detects it, and continues from there",
          "add wait_replicas=1 to the URL: then a failover loses no acknowledged jobs"};
}

}  // namespace

std::vector<Finding> judge_facts(const ServerFacts& facts, bool sentinel, std::uint32_t wait_replicas) {
  std::vector<Finding> findings;
  if (facts.version.empty()) {
    findings.push_back({"server", true, "not checked: the user may not run INFO", ""});
  } else {
    findings.push_back(version(facts));
    if (facts.role != "master") {
      findings.push_back({"role", false, "the server is a replica and accepts no writes", "use the master"});
    }
    if (facts.writes_fail) {
      findings.push_back({"server's disk", false, "the server's last write to its disk failed",
                          "free space on the server's disk, and check its log"});
    }
    if (facts.cluster) {
      findings.push_back(
          {"cluster", true, "each pool is on one server of the cluster; the URL may name any of them", ""});
    }
  }
  if (facts.appendonly.empty()) {
    findings.push_back({"durability", true, "not checked: the user may not run CONFIG GET", ""});
    return findings;
  }
  findings.push_back(durability(facts, wait_replicas));
  findings.push_back(eviction(facts));
  if (!facts.version.empty()) {
    findings.push_back(memory(facts));
    findings.push_back(failover(facts, sentinel, wait_replicas));
  }
  return findings;
}

}  // namespace tenure::redis
