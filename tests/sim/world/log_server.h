#pragma once

// The simulated log itself, without any wire: order, times, snapshots, trims, and the loss of its tail. It keeps
// trimmed entries, so that a loss can undo a trim, as a failover to a lagging replica does.
//
// A log can be replaced by a new one under its readers, as when its name is lost. The old log is then a ghost:
// processes that know it continue to read and append there.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "log/log.h"
#include "sim/world/world.h"

namespace tenure::sim {

// How an engine numbers its entries.
enum class Numbering : std::uint8_t {
  dense,   // 1, 2, 3 …: after a loss the same numbers come again (Kafka, SQLite)
  sparse,  // with gaps (aborted transactions, control records)
  timed,   // from the engine's milliseconds, with a counter in the low bits (Redis)
};

struct ServerOptions {
  Numbering numbering = Numbering::dense;
  std::int64_t start_ms = 1'700'000'000'000;  // the engine's wall clock at the true time zero
  std::int64_t ppm = 0;
};

class LogServer {
 public:
  struct Stored {
    Entry entry;
    std::uint64_t hash = 0;
    std::uint64_t order = 0;  // counts every append ever made: unlike positions it is never used twice
    Time at = 0;
  };
  // Which of the logs that there have been, by their number; the last one is what newcomers get.
  using LogNumber = std::size_t;
  using OnAppend = std::function<void(const Stored&, LogNumber)>;
  using OnLost = std::function<void(Position kept, bool removed)>;
  using OnReplaced = std::function<void(bool wiped)>;

  LogServer(World& world, ServerOptions options);

  LogNumber current() const { return lines_.size() - 1; }
  bool is_ghost(LogNumber log) const { return log != current(); }
  // When a ghost became one.
  Time replaced_at(LogNumber log) const { return lines_[log].replaced_at; }

  Position append(Bytes data) { return append(std::move(data), current()); }
  Position append(Bytes data, LogNumber log);
  // Empty where nothing lies after the cursor yet.
  Result<std::vector<Entry>> read(Cursor after, std::size_t entries_max) const {
    return read(after, entries_max, current());
  }
  Result<std::vector<Entry>> read(Cursor after, std::size_t entries_max, LogNumber log) const;
  // A snapshot that is based on a missing entry is refused with lost_history, because its reader could never continue.
  Status commit(std::shared_ptr<const Snapshot> snapshot);
  std::shared_ptr<const Snapshot> snapshot() const { return line().snapshots.back().value; }
  void trim(Position before);
  // Newcomers get a new log, and whoever knows the old one finds nothing.
  void remove();

  // A failover to a replica that had seen everything up to a true time and nothing after it: entries, snapshots and
  // trims alike. The new server's clock is off by `skew_ms`, as the first one's was by nothing. Returns how many
  // entries are gone.
  std::size_t lose_since(Time since, std::int64_t skew_ms);

  // From here on newcomers get a new log.
  void replace();
  // The same, and the old one is gone for those who know it, too.
  void wipe();
  bool is_gone(LogNumber log) const { return lines_[log].gone; }
  // When the pool was last removed on purpose; zero if it was not, or if that was lost, too.
  std::int64_t removed_ms() const { return removed_ms_; }

  // Called at the append, the loss and the replacement, before any process can know of it.
  void observe(OnAppend on_append, OnLost on_lost, OnReplaced on_replaced);

  std::int64_t engine_ms() const;
  std::int64_t skew_ms() const { return skew_ms_; }
  bool empty() const { return line().first == line().entries.size(); }
  Position last() const { return line().last(); }
  // All that was appended and not lost, also what has been trimmed since.
  const std::vector<Stored>& history() const { return line().entries; }
  std::size_t kept_entries() const { return line().entries.size() - line().first; }
  std::size_t bytes_since_snapshot() const;

 private:
  struct Committed {
    Time at;
    std::shared_ptr<const Snapshot> value;
  };
  struct Trimmed {
    Time at;
    std::size_t first;
  };

  struct Line {
    std::vector<Stored> entries{};
    std::size_t first = 0;  // what lies before it has been trimmed
    std::vector<Committed> snapshots{{0, std::make_shared<const Snapshot>()}};
    std::vector<Trimmed> trims{};
    Time replaced_at = 0;
    bool gone = false;

    Position last() const { return entries.empty() ? 0 : entries.back().entry.position; }
    bool stands_on_entry(const Cursor& cursor) const;
    std::size_t index_of(Position position) const;  // of the first entry at or after it
  };

  Line& line() { return lines_.back(); }
  const Line& line() const { return lines_.back(); }
  Position next_position(Position last, std::int64_t time_ms);

  World& world_;
  ServerOptions options_;
  std::int64_t skew_ms_ = 0;
  Dice dice_;
  std::deque<Line> lines_;
  std::uint64_t orders_ = 0;
  std::int64_t removed_ms_ = 0;
  OnAppend on_append_;
  OnLost on_lost_;
  OnReplaced on_replaced_;
};

}  // namespace tenure::sim
