// Redis streams, for the suite of all kinds of sources.

#include "redis/server.h"
#include "source/stream_url.h"
#include "source_conformance/engine.h"

namespace tenure::conformance {
namespace {

class RedisStreamPlace final : public StreamPlace {
 public:
  std::string url(const std::string& stream) override { return source::with_stream(server_.url(), stream); }

 private:
  const RedisServer server_;
};

const RegisteredSource kRedisSource({.name = "redis",
                                     .across_processes = true,
                                     .limits = true,
                                     .fetches = true,
                                     .make_place = make_stream_place<RedisStreamPlace>});

}  // namespace
}  // namespace tenure::conformance
