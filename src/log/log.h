#pragma once

// The log port: everything that a pool needs from an engine. An engine puts entries in order, keeps them, and gives
// each a time. All rules of the pool are above it, in src/machine. An engine promises:
//
//   1. One total order. Two readers never see different orders, gaps or duplicates of an entry.
//   2. An acknowledged append survives everything that the engine's durability setting says it survives.
//   3. Each entry has a time from the engine. Times never go back within the log.
//   4. An append whose answer was lost (Errc::unknown) may be sent again; the machine drops the duplicate.
//   5. A snapshot at a position can be stored, and the log before it trimmed. A reader behind the trim gets
//      Errc::trimmed and starts from the snapshot.
//   6. A reader whose history was lost gets Errc::lost_history. The engine compares by content: a reader passes the
//      hash of the last entry it applied. After that answer, appends of the same handle also fail with lost_history
//      and are not appended, until load_snapshot() starts over with the log as it is now: a restored backup, or a new
//      empty log after the pool was removed, even by this handle.
//   7. A beat proves the log. An append on Lane::beat succeeds only if a newcomer that opens the log at that moment
//      would get this same log. So in the step that appends the beat, the engine checks everything beside the entries
//      that leads newcomers to the log: names, ids, side files. If the check fails, the answer is
//      Errc::lost_history. A session that lives by its beats can therefore outlive the log's identity by at most its
//      lease. The members of a log that was replaced do not keep each other alive.
//
// tests/log_conformance tests these promises for every engine.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tenure {

// Positions grow along a log. They need not be dense, and are never zero.
using Position = std::uint64_t;

constexpr std::size_t kEntryBytesMax = 8U << 20;

struct Entry {
  Position position = 0;
  std::int64_t time_ms = 0;
  Bytes data;
};

// The last entry that a reader has applied: its position and its content. The default is the position before the first
// entry. The time is part of the content, because an entry that was lost may be appended again, byte for byte, at the
// same position. A hash of zero proves nothing. It is for a reader that has applied nothing yet and starts after one of
// its own entries.
struct Cursor {
  Position position = 0;
  std::uint64_t hash = 0;

  static Cursor at(const Entry& entry) { return {entry.position, hash_of(entry.data, entry.time_ms)}; }
  static std::uint64_t hash_of(BytesView data, std::int64_t time_ms) {
    return hash_mix(hash_bytes(data), static_cast<std::uint64_t>(time_ms)) | 1;
  }
  // True if this entry is the one that was applied at the position.
  bool matches(BytesView data, std::int64_t time_ms) const { return hash == 0 || hash == hash_of(data, time_ms); }
  friend bool operator==(const Cursor&, const Cursor&) = default;
};

// A state at `cursor`, in the chunks in which it was written.
struct Snapshot {
  Cursor cursor;
  std::vector<Bytes> chunks;
  // When somebody last removed the pool on purpose (Log::remove), by the engine's time; zero if nobody has. Nothing if
  // the engine cannot tell. An engine that lost everything may have lost this, too.
  std::optional<std::int64_t> removed_ms{};
};

// Writes one snapshot chunk by chunk. Nobody sees it before commit has succeeded. Destroying a writer discards what was
// not committed. Used from one thread.
class SnapshotWriter {
 public:
  virtual ~SnapshotWriter() = default;
  // Chunks may be buffered; errors surface at commit. A chunk is at most kEntryBytesMax.
  virtual void add(Bytes chunk) = 0;
  // If a newer snapshot is stored, this one is dropped, which counts as success. `done` runs as in Log.
  virtual void commit(std::function<void(Status)> done) = 0;
};

// Beats never wait behind data: an engine handles the beat lane first.
enum class Lane : std::uint8_t { data, beat };

// What load_snapshot() does if the log is gone.
enum class IfGone : std::uint8_t {
  create,  // makes a new, empty log
  report,  // fails with Errc::no_such_pool, and makes nothing
};

// Thread-safe. Callbacks run on a thread of the engine (never inside the call that passed them), must be quick, and run
// at most once. close() destroys outstanding callbacks without running them, and waits for a running one, so a callback
// must not call it. No callback runs after it has returned.
class Log {
 public:
  using AppendDone = std::function<void(Result<Position>)>;
  using ReadDone = std::function<void(Result<std::vector<Entry>>)>;

  virtual ~Log() = default;

  // Appends one entry. After Errc::unknown the entry may or may not be in the log. After any other error it is not, and
  // only Errc::unavailable and Errc::full are worth a retry.
  virtual void append(Lane lane, Bytes data, AppendDone done) = 0;

  // Waits until there is at least one entry after `after`, and returns a bounded run of them. At most one read is
  // outstanding per Log. Fails with trimmed, lost_history, unavailable, or an error of the engine.
  virtual void read(Cursor after, ReadDone done) = 0;

  // The position of the last entry, or zero if there is none. No entry whose append was acknowledged to anybody before
  // this call comes after it. Does not change the log.
  using EndDone = std::function<void(Result<Position>)>;
  virtual void find_end(EndDone /*done*/) {}

  // The newest snapshot. If none was stored, the result has no chunks and the default cursor.
  using LoadDone = std::function<void(Result<Snapshot>)>;
  virtual void load_snapshot(IfGone if_gone, LoadDone done) = 0;
  void load_snapshot(LoadDone done) { load_snapshot(IfGone::create, std::move(done)); }
  virtual std::unique_ptr<SnapshotWriter> begin_snapshot(Cursor at) = 0;

  // With each of its beats an engine may check whether the stored snapshot is still complete, and report the position
  // of the snapshot that a newcomer would load, or zero if there is none. Call it once, before the first append.
  using SnapshotSeen = std::function<void(Position stored)>;
  virtual void watch_snapshot(SnapshotSeen /*seen*/) {}

  // Drops entries before `before`, but never the entry that the stored snapshot is based on, nor later ones.
  virtual void trim(Position before, std::function<void(Status)> done) = 0;

  // Removes the pool's data. Readers elsewhere get Errc::lost_history.
  virtual void remove(std::function<void(Status)> done) = 0;

  virtual void close() = 0;

  // The number of logs that the pool was created with.
  virtual std::uint32_t shards() const { return 1; }
};

}  // namespace tenure
