// The engine for Redis, for the suite.

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "log_conformance/engine.h"
#include "redis/server.h"

namespace tenure::conformance {
namespace {

class RedisPlace final : public Place {
 public:
  std::string url() const override { return server_.url(); }
  std::vector<std::string> leftovers() const override {
    std::istringstream keys(server_.command({"KEYS", "*"}));
    std::vector<std::string> found{std::istream_iterator<std::string>(keys), std::istream_iterator<std::string>()};
    std::erase_if(found, [this](const std::string& key) { return is_note(key); });
    return found;
  }

 private:
  // That a pool was removed on purpose is known for an hour, and no longer.
  bool is_note(const std::string& key) const {
    if (!key.ends_with(":removed")) return false;
    const long ttl_ms = std::stol(server_.command({"PTTL", key}));
    return ttl_ms > 0 && ttl_ms <= 3'600'000;
  }

  const RedisServer server_;
};

const RegisteredEngine kRedis({.name = "redis",
                               .across_processes = true,
                               .many_pools = true,
                               .pool_tests_with_shards = true,
                               .make_place = make<RedisPlace>});

}  // namespace
}  // namespace tenure::conformance
