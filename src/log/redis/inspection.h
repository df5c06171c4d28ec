#pragma once

// A look at a Redis server: its version, what it keeps and when, what it drops, who follows it, and what the user may.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "log/finding.h"
#include "log/open.h"

namespace tenure::redis {

// Empty where the server cannot be reached or does not let us in: whoever opens the log is told why.
std::vector<Finding> inspect(std::string_view url, const LogOptions& options);

// What a server says of itself, as far as the user may ask.
struct ServerFacts {
  std::string version;  // empty where INFO is not allowed
  std::string role;
  std::uint64_t replicas = 0;
  std::uint64_t used_memory = 0;
  bool cluster = false;
  bool writes_fail = false;  // the last write of its files failed
  // From CONFIG GET; empty where that is not allowed.
  std::string appendonly;
  std::string appendfsync;
  std::string save;
  std::string maxmemory;
  std::string policy;
  std::string min_replicas;
};

std::vector<Finding> judge_facts(const ServerFacts& facts, bool sentinel, std::uint32_t wait_replicas);

}  // namespace tenure::redis
