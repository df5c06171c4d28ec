#pragma once

// Shared by the tests of the Redis engine: a server and its keys.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "log/open.h"
#include "log_conformance/insist.h"
#include "log_conformance/member.h"
#include "log_conformance/waiting.h"
#include "redis/server.h"

namespace tenure::conformance {

constexpr const char* kMetaKey = "tenure:{default}:meta";

// Of the stream, once there is a log.
inline std::string log_key(const RedisServer& server, const std::string& pool = "default") {
  return "tenure:{" + pool + "}:log:" + server.command({"HGET", "tenure:{" + pool + "}:meta", "id"});
}

}  // namespace tenure::conformance
