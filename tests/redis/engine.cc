// The engine for Redis, for the suite.

#include "log_conformance/engine.h"
#include "redis/server.h"

namespace tenure::conformance {
namespace {

class RedisPlace final : public Place {
 public:
  std::string url() const override { return server_.url(); }

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
