#include "log/sqlite/vacuum.h"

#include <utility>

namespace tenure::sqlite {
namespace {

// In pages of 8 KiB.
constexpr std::int64_t kFreeBusy = 2048;                             // 16 MiB
constexpr std::int64_t kFreeIdle = 128;                              // 1 MiB
constexpr const char* kGiveBack = "PRAGMA incremental_vacuum(256)";  // 2 MiB

}  // namespace

Result<bool> Vacuum::step(Connection& connection) {
  const auto free = connection.query_integer("PRAGMA freelist_count");
  if (!free) return Failure(free.error());
  const auto last = connection.query_integer("SELECT ifnull(max(first), 0) FROM runs");
  if (!last) return Failure(last.error());
  const auto kind = connection.query_integer("PRAGMA auto_vacuum");
  if (!kind) return Failure(kind.error());
  const std::optional<std::int64_t> before = std::exchange(last_entry_, *last);
  const bool idle = before == *last;
  const bool first_look = !before;
  constexpr std::int64_t kIncremental = 2;  // files of an older version do not have it
  if (*kind == kIncremental && *free > (idle ? kFreeIdle : kFreeBusy)) {
    const Status given = transact(connection, [&] { return connection.exec(kGiveBack); });
    if (!given) return Failure(given.error());
    return false;
  }
  return !first_look;
}

}  // namespace tenure::sqlite
