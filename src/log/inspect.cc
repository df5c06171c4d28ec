#include "log/inspect.h"

#ifdef TENURE_WITH_REDIS
#include "log/redis/inspection.h"
#include "log/redis/settings.h"
#endif

namespace tenure {

std::vector<Finding> inspect_log([[maybe_unused]] std::string_view url, [[maybe_unused]] const LogOptions& options) {
#ifdef TENURE_WITH_REDIS
  if (redis::is_redis_url(url)) return redis::inspect(url, options);
#endif
  return {};
}

}  // namespace tenure
