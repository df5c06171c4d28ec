#pragma once

// The simulated log itself, without any wire: order, times, snapshots, trims, and the loss of its tail. It keeps
// what was trimmed, so that a loss can undo a trim as a failover to a lagging replica does.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "log/log.h"
#include "sim/world.h"

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
  using OnAppend = std::function<void(const Stored&)>;
  using OnLost = std::function<void(Position kept)>;

  LogServer(World& world, ServerOptions options);

  Position append(Bytes data);
  // Empty where nothing lies after the cursor yet.
  Result<std::vector<Entry>> read(Cursor after, std::size_t entries_max) const;
  // A snapshot that stands on an entry which is not there (any more) is refused with lost_history: whoever loaded it
  // could never read on.
  Status commit(std::shared_ptr<const Snapshot> snapshot);
  std::shared_ptr<const Snapshot> snapshot() const { return snapshots_.back().value; }
  void trim(Position before);
  void remove();

  // A failover to a replica that had seen everything up to a true time and nothing after it: entries, snapshots and
  // trims alike. The new server's clock is off by `skew_ms`, as the first one's was by nothing. Returns how many
  // entries are gone.
  std::size_t lose_since(Time since, std::int64_t skew_ms);

  // Called at the append and at the loss, before any process can know of it.
  void observe(OnAppend on_append, OnLost on_lost);

  std::int64_t engine_ms() const;
  std::int64_t skew_ms() const { return skew_ms_; }
  bool empty() const { return first_ == entries_.size(); }
  Position last() const { return entries_.empty() ? 0 : entries_.back().entry.position; }
  // All that was appended and not lost, also what has been trimmed since.
  const std::vector<Stored>& history() const { return entries_; }
  std::size_t kept_entries() const { return entries_.size() - first_; }
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

  Position next_position(std::int64_t time_ms);
  bool stands_on_entry(const Cursor& cursor) const;
  std::size_t index_of(Position position) const;  // of the first entry at or after it

  World& world_;
  ServerOptions options_;
  std::int64_t skew_ms_ = 0;
  Dice dice_;
  std::vector<Stored> entries_;
  std::size_t first_ = 0;  // what lies before it has been trimmed
  std::vector<Committed> snapshots_;
  std::vector<Trimmed> trims_;
  std::uint64_t orders_ = 0;
  OnAppend on_append_;
  OnLost on_lost_;
};

}  // namespace tenure::sim
