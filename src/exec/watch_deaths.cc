#include "exec/watch_deaths.h"

#include <optional>
#include <string>

#include "log/open.h"

namespace tenure::exec {

Result<std::unique_ptr<guard::DeathWatch>> watch_deaths(std::string_view url, std::string_view pool,
                                                        std::uint32_t shard) {
  const std::optional<std::string> file = log_file(url, pool, shard);
  if (!file) return std::unique_ptr<guard::DeathWatch>();
  return guard::DeathWatch::open(*file);
}

}  // namespace tenure::exec
