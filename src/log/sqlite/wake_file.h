#pragma once

// A small mapped file beside the database (`PATH-wake`) through which the processes of a pool wake one another: a few
// words, waited on with futexes. Nothing in it is data: zeroes are a valid start, and a wake-up lost with the process
// that owed it costs a waiter its slow poll and no more.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace tenure::sqlite {

// The layout of the file. Each word wraps; only a change of it means something.
struct WakeWords {
  std::atomic<std::uint32_t> commits;     // bumped after each commit; readers wait on it
  std::atomic<std::uint32_t> releases;    // bumped when the write turn is given back; writers wait on it
  std::atomic<std::uint32_t> turns;       // bumped when the write turn is taken
  std::atomic<std::uint32_t> holder_pid;  // who has the write turn, for people; zero when nobody has
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(WakeWords) == 16);

// Wakes at most `count` waiters in any process and says how many there were.
int futex_wake(std::atomic<std::uint32_t>& word, int count);
// Returns when woken, at once if the word is not `seen`, after `span`, or for no reason: callers look again.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Nanos span);

// Thread-safe: all of it is atomics and system calls.
class WakeFile {
 public:
  static std::string path_for(const std::string& database) { return database + "-wake"; }

  // Opens the file, creating it if need be. With `read_only` it is not created and may be unwritable.
  static Result<std::unique_ptr<WakeFile>> open(const std::string& path, bool read_only);
  ~WakeFile();
  WakeFile(const WakeFile&) = delete;
  WakeFile& operator=(const WakeFile&) = delete;

  // A value to take before looking for entries, and to wait on when there were none.
  std::uint32_t commits() const { return words_->commits.load(std::memory_order_acquire); }
  void wait(std::uint32_t seen) const { futex_wait(words_->commits, seen, poll_span_); }
  // After a commit, and to interrupt waiters of this process.
  void announce();

  // Whether the path still leads to this file; it does not after the pool was removed.
  bool current() const;

  WakeWords& words() { return *words_; }
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }

 private:
  WakeFile(std::string path, int descriptor, WakeWords* words, bool writable);

  const std::string path_;
  const int descriptor_;
  WakeWords* const words_;
  const bool writable_;
  const Nanos poll_span_;
};

}  // namespace tenure::sqlite
