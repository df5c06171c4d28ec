#pragma once

// The last entries that this process has committed to a file, for its own readers. Most of what a node reads it has
// written itself a moment ago, and to get that back from SQLite takes a system call for every page.
//
// What is kept here is what the file says:
//
//   - It was committed, by the one writer of this process, and no entry is missing in between.
//   - Nobody else has changed the file between those commits. The writer learns in each transaction whether anybody
//     did since the one before (EntryWriter::others_wrote), and then drops everything. That positions follow each other
//     would not prove it: a backup restored in place may end where the lost history did.
//   - A chore of this process that drops entries, and a commit that failed, drop everything as well.
//   - It goes with the PoolFile, which is one file on the disk. A pool that was removed and made anew is another, and
//     its inode cannot be the same while the old one is open. Readers ask PoolFile::still_there() first, as ever.
//
// Until the writer's next transaction a change by others is not known here. A reader may then still be handed what was
// kept before it, just as if it had asked a moment earlier; where that ends it asks the file, at the latest when its
// slow poll is due. And it is handed anything only if its cursor's own entry is kept too, and is the one that it has
// applied. To say that history was lost, or trimmed, is left to the file.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "log/log.h"

namespace tenure::sqlite {

// What is kept at most; beyond either the oldest commits go. A commit that alone is more than that is not kept.
constexpr std::size_t kRecentBytesMax = 2U << 20;
constexpr std::size_t kRecentEntriesMax = 1U << 14;

// Thread-safe.
class RecentCommits {
 public:
  // For the writer: the entries of a commit that has succeeded. What is kept already stays only if they follow it
  // without a gap. `announced` is what WakeFile::commits() will be once this commit is announced. The write turn is
  // held from before the commit until then, so that while it stays the same nobody has announced another.
  void put(Position first, std::int64_t time_ms, std::vector<Bytes> entries, std::uint32_t announced);
  void clear();

  // For readers: the entries after the cursor, as many as the file would hand out. None where there are no more, and
  // WakeFile::commits(), as the reader has found it before, says that nobody else has announced any. Nothing where the
  // file has to be asked.
  std::optional<std::vector<Entry>> after(const Cursor& cursor, std::uint32_t commits) const;

 private:
  // One commit. It is not changed any more, so that readers copy from it without the lock.
  struct Run {
    Run(Position from, std::int64_t time, std::vector<Bytes> data);

    Position last() const { return first + entries.size() - 1; }
    bool proves(const Cursor& cursor) const;

    const Position first;
    const std::int64_t time_ms;
    const std::vector<Bytes> entries;
    const std::size_t bytes;
    // Readers stand on the last entry, and look more than once: its hash, once somebody has needed it.
    mutable std::atomic<std::uint64_t> last_hash = 0;
  };
  using Runs = std::deque<std::shared_ptr<const Run>>;

  std::vector<std::shared_ptr<const Run>> from(const Cursor& cursor, std::uint32_t commits) const;

  mutable std::mutex mutex_;
  // All below is guarded by mutex_.
  Runs runs_;
  std::size_t bytes_ = 0;
  std::size_t entries_ = 0;
  std::uint32_t announced_ = 0;
};

}  // namespace tenure::sqlite
