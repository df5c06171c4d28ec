#include "log/sqlite/trim.h"

#include <algorithm>

namespace tenure::sqlite {
namespace {

// A step ends at whichever comes first: some milliseconds of work.
constexpr int kTrimEntriesMax = 1024;
constexpr std::int64_t kTrimBytesMax = 4LL << 20;

constexpr std::string_view kSnapshotPosition = "SELECT max(position) FROM snapshots WHERE chunks IS NOT NULL";

struct Cut {
  std::int64_t before = 0;  // entries before this position go in this step
  bool finished = false;
};

// Walks from the front; length() does not read the data itself.
Result<Cut> find_cut(Connection& connection, std::int64_t end) {
  auto walk = connection.prepare("SELECT position, length(data) FROM entries WHERE position < ?1 ORDER BY position");
  if (!walk) return Failure(walk.error());
  walk->bind(1, end);
  std::int64_t bytes = 0;
  for (int entries = 0;; ++entries) {
    const Result<bool> row = walk->step();
    if (!row) return Failure(row.error());
    if (!*row) return Cut{end, true};
    if (entries == kTrimEntriesMax || bytes >= kTrimBytesMax) return Cut{walk->integer(0), false};
    bytes += walk->integer(1);
  }
}

}  // namespace

Result<bool> Trim::step(Connection& connection) {
  Cut cut;
  const Status trimmed = transact(connection, [&]() -> Status {
    const auto snapshot = connection.query_integer(kSnapshotPosition);
    if (!snapshot) return Failure(snapshot.error());
    // Without a snapshot the answer is zero, and nothing goes.
    const auto end = static_cast<std::int64_t>(std::min(before_, static_cast<Position>(*snapshot)));
    auto found = find_cut(connection, end);
    if (!found) return Failure(found.error());
    cut = *found;
    auto drop = connection.prepare("DELETE FROM entries WHERE position < ?1");
    if (!drop) return Failure(drop.error());
    drop->bind(1, cut.before);
    return drop->run();
  });
  if (!trimmed) return Failure(trimmed.error());
  return cut.finished;
}

}  // namespace tenure::sqlite
