#pragma once

// Parses a `sqlite:` URL: PATH[?sync=full|normal|off][&group=NAME].

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tenure::sqlite {

// What acknowledged appends survive, from the weakest setting to the strictest. The values are SQLite's own.
enum class Sync : std::uint8_t {
  off = 0,     // a crash of a process
  normal = 1,  // the same; after a loss of power the log is a prefix of the acknowledged entries
  full = 2,    // a loss of power
};

struct SqliteSettings {
  std::string path;  // absolute, with symbolic links resolved: the same file has the same path
  Sync sync = Sync::full;
  std::optional<gid_t> group;  // who may use the pool, beside its owner
};

// Every shard but the first has a file beside the first one's: PATH-shard-N.
Result<SqliteSettings> parse_settings(std::string_view location, std::uint32_t shard = 0);

}  // namespace tenure::sqlite
