// The engine for Redis, for the suite.

#include <iterator>
#include <sstream>

#include "log_conformance/engine.h"
#include "redis/server.h"

namespace tenure::conformance {
namespace {

class RedisPlace final : public Place {
 public:
  std::string url() const override { return server_.url(); }
  std::vector<std::string> leftovers() const override {
    std::istringstream keys(server_.command({"KEYS", "*"}));
    return {std::istream_iterator<std::string>(keys), std::istream_iterator<std::string>()};
  }

 private:
  const RedisServer server_;
};

const RegisteredEngine kRedis({.name = "redis",
                               .across_processes = true,
                               .many_pools = true,
                               .pool_tests_with_shards = true,
                               .make_place = make<RedisPlace>});

}  // namespace
}  // namespace tenure::conformance
