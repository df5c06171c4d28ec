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

// Paths are absolute, with symbolic links resolved: the same file has the same path.
struct SqliteSettings {
  std::string path;       // of the pool that came first
  std::string own_path;   // of this pool, if another one came first (whereabouts.h)
  std::string own_first;  // own_path of its first shard
  Sync sync = Sync::full;
  std::optional<gid_t> group;  // who may use the pool, beside its owner
};

// The name of a pool or a stream as a part of a file's name. Leaves room for the names of the files beside it. A hash
// keeps long names apart.
std::string short_name_of(std::string_view given);

// Every shard but the first has a file beside the first one's: PATH-shard-N.
Result<SqliteSettings> parse_settings(std::string_view location, std::string_view pool, std::uint32_t shard = 0);

}  // namespace tenure::sqlite
