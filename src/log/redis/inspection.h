#pragma once

// Examines a Redis server: version, durability, eviction, replicas, and the rights of the user.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "log/finding.h"
#include "log/open.h"

namespace tenure::redis {

// Empty if the server cannot be reached or refuses the login. Opening the log reports why.
std::vector<Finding> inspect(std::string_view url, const LogOptions& options);

// The server's own facts, as far as the user may query them.
struct ServerFacts {
  std::string version;  // empty if INFO is not allowed
  std::string role;
  std::uint64_t replicas = 0;
  std::uint64_t used_memory = 0;
  bool cluster = false;
  bool writes_fail = false;  // the last write of its files failed
  // From CONFIG GET; empty if that is not allowed.
  std::string appendonly;
  std::string appendfsync;
  std::string save;
  std::string maxmemory;
  std::string policy;
  std::string min_replicas;
};

std::vector<Finding> judge_facts(const ServerFacts& facts, bool sentinel, std::uint32_t wait_replicas);

}  // namespace tenure::redis
