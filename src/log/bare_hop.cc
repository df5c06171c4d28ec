#include "log/bare_hop.h"

#ifdef TENURE_WITH_REDIS
#include "log/redis/hops.h"
#include "log/redis/settings.h"
#endif

namespace tenure {

Result<std::vector<Nanos>> measure_bare_hops([[maybe_unused]] std::string_view url, [[maybe_unused]] int count) {
#ifdef TENURE_WITH_REDIS
  if (redis::is_redis_url(url)) return redis::measure_hops(url, count);
#endif
  return std::vector<Nanos>();
}

}  // namespace tenure
