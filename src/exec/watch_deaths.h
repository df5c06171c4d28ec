#pragma once

// Opens what knows the deaths of a shard's members on this host.

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "guard/death_watch.h"

namespace tenure::exec {

// Null if the engine keeps no file on this host: then only leases tell who is dead.
Result<std::unique_ptr<guard::DeathWatch>> watch_deaths(std::string_view url, std::string_view pool,
                                                        std::uint32_t shard);

}  // namespace tenure::exec
