#include "log/sqlite/wake_file.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "base/descriptor.h"
#include "log/sqlite/errors.h"

namespace tenure::sqlite {
namespace {

using namespace std::chrono_literals;

// Covers a writer that died between its commit and its wake-up. Rare enough to cost nothing when idle.
constexpr Nanos kPollSpan = 500ms;
// If the words are not writable, a wait cannot be interrupted without a race, so it is kept short.
constexpr Nanos kPollSpanReadOnly = 50ms;

// A look takes a reader some 80 µs, more on a busy machine. With these values a thousand readers together use a fifth
// of a processor, and fewer readers use less.
constexpr std::uint64_t kCrowdMin = 16;
constexpr std::uint64_t kCrowdMax = 1024;
constexpr std::uint64_t kCrowdOne = 1024;  // of the number in the file: it falls by a thousandth with each commit
constexpr Nanos kGapEach = 500us;
constexpr Nanos kGapMax = 200ms;

// The file is written, not just extended: accessing a page without disk space would raise SIGBUS.
Status fill(int descriptor, std::int64_t bytes, const std::string& path) {
  if (bytes >= static_cast<std::int64_t>(sizeof(WakeWords))) return {};
  static constexpr std::array<char, sizeof(WakeWords)> kZeroes{};
  const auto missing = sizeof(WakeWords) - static_cast<std::size_t>(bytes);
  const ssize_t written = pwrite(descriptor, kZeroes.data(), missing, static_cast<off_t>(bytes));
  if (written == static_cast<ssize_t>(missing)) return {};
  return Failure(system_error(written < 0 ? errno : ENOSPC, "open", path));
}

// If the file was open to other users, they may still have it open: a reader can lock it and stop the pool. So it is
// replaced.
int open_own(const std::string& path, const Rights& rights) {
  constexpr int kAttemptsMax = 8;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const int made = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0600);
    if (made >= 0) {
      rights.give_to(made);
      return made;
    }
    if (errno != EEXIST) return -1;
    const int found = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (found < 0 && errno == ENOENT) continue;
    if (found < 0) return -1;
    const auto facts = facts_of(found);
    if (!facts || !facts->ours || rights.allow(*facts)) return found;
    ::close(found);
    unlink(path.c_str());
  }
  errno = EBUSY;
  return -1;
}

}  // namespace

// The futexes are shared between processes, so the private flag is not set.
int futex_wake(std::atomic<std::uint32_t>& word, int count) {
  const long woken = syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
  return woken > 0 ? static_cast<int>(woken) : 0;
}

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Nanos span) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span);
  const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (span - seconds).count()};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

WakeMap::WakeMap(int descriptor, FileId id, void* memory, bool writable)
    : descriptor_(descriptor), id_(id), words_(static_cast<WakeWords*>(memory)), writable_(writable) {
  guard_.emplace(memory, sizeof(WakeWords), harmed_);
}

WakeMap::~WakeMap() {
  guard_.reset();
  munmap(words_, sizeof(WakeWords));
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool WakeMap::is_at(const std::string& path) const {
  if (descriptor_ < 0) return true;
  const auto found = facts_of(path);
  return found && found->id == id_ && found->bytes >= static_cast<std::int64_t>(sizeof(WakeWords)) &&
         !harmed_.load(std::memory_order_acquire);
}

WakeFile::WakeFile(std::string database, bool read_only)
    : database_(std::move(database)), path_(path_for(database_)), read_only_(read_only) {}

Result<std::unique_ptr<WakeFile>> WakeFile::open(const std::string& database, bool read_only) {
  std::unique_ptr<WakeFile> file(new WakeFile(database, read_only));
  auto map = file->open_map();
  if (!map) return Failure(map.error());
  file->map_ = *std::move(map);
  return file;
}

Result<std::shared_ptr<WakeMap>> WakeFile::open_map() const {
  bool writable = true;
  int descriptor = read_only_ ? ::open(path_.c_str(), O_RDWR | O_CLOEXEC) : open_own(path_, Rights::beside(database_));
  if (descriptor < 0 && read_only_ && (errno == EACCES || errno == EROFS)) {
    writable = false;
    descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  }
  const bool does_without = read_only_ && descriptor < 0 && (errno == EACCES || errno == ENOENT);
  if (descriptor < 0 && !does_without) return Failure(system_error(errno, "open", path_));
  FileId id;
  if (!does_without) {
    const auto facts = facts_of(descriptor);
    if (facts) id = facts->id;
    const Status filled = facts && writable ? fill(descriptor, facts->bytes, path_) : Status();
    if (!filled) {
      ::close(descriptor);
      return Failure(filled.error());
    }
  }
  const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
  void* mapped = does_without ? mmap(nullptr, sizeof(WakeWords), protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                              : mmap(nullptr, sizeof(WakeWords), protection, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) {
    const int error_number = errno;
    if (descriptor >= 0) ::close(descriptor);
    return Failure(system_error(error_number, "open", path_));
  }
  return std::make_shared<WakeMap>(descriptor, id, mapped, writable && !does_without);
}

std::shared_ptr<WakeMap> WakeFile::map() const {
  const std::lock_guard lock(mutex_);
  return map_;
}

void WakeFile::wait(std::uint32_t seen) const {
  const auto now = map();
  futex_wait(now->words().commits, seen, now->writable() ? kPollSpan : kPollSpanReadOnly);
}

void WakeFile::announce() {
  const auto now = map();
  WakeWords& words = now->words();
  if (now->writable()) words.commits.fetch_add(1, std::memory_order_release);
  const auto woken = static_cast<std::uint64_t>(futex_wake(words.commits, INT_MAX));
  if (!now->writable()) return;
  // Readers that wait for their gap are not among those woken, so the number falls slowly.
  const std::uint64_t before = words.crowd.load(std::memory_order_relaxed);
  const std::uint64_t fallen = before - (before + kCrowdOne - 1) / kCrowdOne;
  words.crowd.store(std::max(woken * kCrowdOne, fallen), std::memory_order_relaxed);
}

Nanos WakeFile::gap() const {
  const std::uint64_t crowd = map()->words().crowd.load(std::memory_order_relaxed) / kCrowdOne;
  if (crowd < kCrowdMin) return Nanos::zero();
  return std::min(kGapMax, kGapEach * static_cast<int>(std::min(crowd, kCrowdMax)));
}

// A file that was here when the pool was opened tells newcomers what belongs together (side_files.h), and stays.
void WakeFile::drop_if_orphan(const WakeMap& held) const {
  if (held.words().self.load() == held.id().number() || read_only_) return;
  if (!held.is_at(path_) || facts_of(database_)) return;
  unlink(path_.c_str());
}

// With a descriptor of its own, because the turn belongs to the descriptor.
void WakeFile::drop_orphan() const {
  if (read_only_ || facts_of(database_)) return;
  const Descriptor file(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  if (!file || flock(file.get(), LOCK_EX | LOCK_NB) != 0) return;
  const auto held = facts_of(file.get());
  const auto there = facts_of(path_);
  WakeWords words{};
  const bool read =
      pread(file.get(), static_cast<void*>(&words), sizeof words, 0) == static_cast<ssize_t>(sizeof words);
  if (!held || !there || held->id != there->id || (read && words.self == held->id.number())) return;
  if (!facts_of(database_)) unlink(path_.c_str());
}

Status WakeFile::renew() {
  if (current()) return {};
  auto other = open_map();
  if (!other) return Failure(other.error());
  std::shared_ptr<WakeMap> before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(map_, *std::move(other));
  }
  // Waiters on the old words look again, and then wait on the new ones.
  if (before->writable()) before->words().commits.fetch_add(1, std::memory_order_release);
  futex_wake(before->words().commits, INT_MAX);
  return {};
}

}  // namespace tenure::sqlite
