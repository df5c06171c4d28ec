#pragma once

// The last entries that this process has committed to a file, for its own readers. A node has itself written most of
// what it reads, a moment ago, and reading it from SQLite takes a system call for every page.
//
// The memory agrees with the file:
//
//   - Every entry was committed by the one writer of this process, and no entry is missing in between.
//   - Nobody else has changed the file between those commits. In each transaction the writer checks whether anybody did
//     since the last one (EntryWriter::others_wrote), and then drops everything. Consecutive positions would not prove
//     it: a backup that is restored in place may end where the lost history did.
//   - A failed commit, and a chore of this process that removes entries, drop everything as well.
//   - It belongs to the PoolFile, which is one file on the disk. A pool that was removed and created again is another
//     file, and cannot have the same inode while the old one is open. Readers call PoolFile::unchanged() first.
//
// Until the writer's next transaction this memory does not know of changes by others. A reader may then still get older
// entries, as if it had asked a moment earlier. At their end it asks the file, at the latest with its slow poll. A
// reader gets entries only if its cursor's own entry is here too, and is the one that it has applied. Only the file
// reports lost or trimmed history.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "log/log.h"

namespace tenure::sqlite {

// The limits. Beyond either, the oldest commits are dropped. A commit larger than that is not kept.
constexpr std::size_t kRecentBytesMax = 2U << 20;
constexpr std::size_t kRecentEntriesMax = 1U << 14;

// Thread-safe.
class RecentCommits {
 public:
  // For the writer: the entries of a successful commit. Older ones stay only if these follow without a gap. `announced`
  // is the value of WakeFile::commits() after this commit is announced. The write turn is held from before the commit
  // until then, so as long as the value is the same, nobody has announced another commit.
  void put(Position first, std::int64_t time_ms, std::vector<Bytes> entries, std::uint32_t announced);
  void clear();

  // For readers: the entries after the cursor, as many as the file would return. An empty result means that there are
  // no more, and that nobody else has announced a commit since the reader took `commits` from WakeFile::commits(). No
  // result means: ask the file.
  std::optional<std::vector<Entry>> after(const Cursor& cursor, std::uint32_t commits) const;

 private:
  // One commit. Immutable, so readers copy from it without the lock.
  struct Run {
    Run(Position from, std::int64_t time, std::vector<Bytes> data);

    Position last() const { return first + entries.size() - 1; }
    bool proves(const Cursor& cursor) const;

    const Position first;
    const std::int64_t time_ms;
    const std::vector<Bytes> entries;
    const std::size_t bytes;
    // The hash of the last entry, once it was needed. Readers stand there, and look more than once.
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
