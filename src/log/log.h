#pragma once

// The log port: all that a pool asks of an engine. An engine orders entries, keeps them, and stamps them with a
// time; every rule of the pool lives above, in src/machine. What an engine promises:
//
//   1. One total order. Two readers never see different orders, gaps or duplicates of an entry.
//   2. An acknowledged append survives what the engine's durability setting says it survives.
//   3. Each entry carries a time given by the engine that never goes back within the log.
//   4. An append whose answer was lost (Errc::unknown) may be sent again; the machine drops what it has seen.
//   5. A snapshot at a position can be stored and the log before it trimmed; a reader behind the trim is told so
//      (Errc::trimmed) and starts from the snapshot.
//   6. If history was lost under a reader, the engine says so (Errc::lost_history). It compares by content: a
//      reader hands over the hash of the last entry it applied. From that answer on, the handle's appends are
//      answered with lost_history too and are not appended, until load_snapshot() begins anew with whatever the log
//      now is: a restored backup, or a new empty log where the pool was removed, be it by this very handle.
//   7. A beat proves the log. An append on Lane::beat gets into the log only if at that moment a newcomer who opens
//      the log would be given this very one. So the engine checks, in the step that appends the beat, all that leads
//      newcomers to the log and that it keeps beside the entries: names, ids, side files. Otherwise the beat is
//      answered with Errc::lost_history. A session that lives by its beats can therefore not outlive the log's
//      identity by more than its lease: the members of a log that was replaced do not confirm each other.
//
// tests/log_conformance states these promises as tests, and every engine passes them.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tenure {

// Positions only grow along a log, are not necessarily dense, and are never zero.
using Position = std::uint64_t;

constexpr std::size_t kEntryBytesMax = 8U << 20;

struct Entry {
  Position position = 0;
  std::int64_t time_ms = 0;
  Bytes data;
};

// The last entry a reader has applied: where it lay and what it was. The default stands before the first entry. The
// time is part of what it was: an entry that was lost may be appended again, byte for byte, at the same position. A
// hash of zero proves nothing; it is for a reader that has applied nothing yet and begins behind an entry of its own.
struct Cursor {
  Position position = 0;
  std::uint64_t hash = 0;

  static Cursor at(const Entry& entry) { return {entry.position, hash_of(entry.data, entry.time_ms)}; }
  static std::uint64_t hash_of(BytesView data, std::int64_t time_ms) {
    return hash_mix(hash_bytes(data), static_cast<std::uint64_t>(time_ms)) | 1;
  }
  // Whether the entry that now lies at the position is the one that was applied.
  bool matches(BytesView data, std::int64_t time_ms) const { return hash == 0 || hash == hash_of(data, time_ms); }
  friend bool operator==(const Cursor&, const Cursor&) = default;
};

// A state as of `cursor`, in the chunks it was written in.
struct Snapshot {
  Cursor cursor;
  std::vector<Bytes> chunks;
};

// Writes one snapshot chunk by chunk. Nothing is visible to anyone before commit has succeeded, and destroying a
// writer discards what was not committed. Used from one thread.
class SnapshotWriter {
 public:
  virtual ~SnapshotWriter() = default;
  // Chunks may be buffered; errors surface at commit. A chunk is at most kEntryBytesMax.
  virtual void add(Bytes chunk) = 0;
  // A snapshot older than the stored one is dropped: that is success. `done` runs as in Log.
  virtual void commit(std::function<void(Status)> done) = 0;
};

// Beats never wait behind data: an engine serves the beat lane first.
enum class Lane : std::uint8_t { data, beat };

// Thread-safe. Callbacks run on a thread of the engine (never inside the call that handed them over), must be
// quick, and run at most once: those outstanding at close() are destroyed unrun. close() waits for a callback
// that is running, so it must not be called from one; after it has returned no callback runs.
class Log {
 public:
  using AppendDone = std::function<void(Result<Position>)>;
  using ReadDone = std::function<void(Result<std::vector<Entry>>)>;

  virtual ~Log() = default;

  // Appends one entry. On Errc::unknown it may or may not be in the log; on any other error it is not, and only
  // Errc::unavailable and Errc::full are worth another try.
  virtual void append(Lane lane, Bytes data, AppendDone done) = 0;

  // Waits until there is at least one entry after `after` and hands over a bounded run of them. At most one read
  // is outstanding per Log. Fails with trimmed, lost_history, unavailable, or an error of the engine.
  virtual void read(Cursor after, ReadDone done) = 0;

  // The newest snapshot, or one without chunks at the default cursor where none was stored.
  virtual void load_snapshot(std::function<void(Result<Snapshot>)> done) = 0;
  virtual std::unique_ptr<SnapshotWriter> begin_snapshot(Cursor at) = 0;

  // With each of its beats an engine may look whether the stored snapshot is still whole, and tell the position of the
  // one that a newcomer would load: zero where there is none. To be called once, before the first append.
  using SnapshotSeen = std::function<void(Position stored)>;
  virtual void watch_snapshot(SnapshotSeen /*seen*/) {}

  // Drops entries before `before`, but never the entry that the stored snapshot stands on nor any after it.
  virtual void trim(Position before, std::function<void(Status)> done) = 0;

  // Removes the pool's data for good. Readers elsewhere find their history lost.
  virtual void remove(std::function<void(Status)> done) = 0;

  virtual void close() = 0;

  // How many logs the pool has: what it was created with.
  virtual std::uint32_t shards() const { return 1; }
};

}  // namespace tenure
