#include "log/sqlite/wake_file.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "log/sqlite/errors.h"

namespace tenure::sqlite {
namespace {

using namespace std::chrono_literals;

// The safety net for a writer that died between its commit and its wake-up. Rare enough to cost nothing when idle.
constexpr Nanos kPollSpan = 500ms;
// Where the words cannot be written, a wait cannot be interrupted without a race; it is kept short instead.
constexpr Nanos kPollSpanReadOnly = 50ms;

// The file is written, not just extended: touching a page that finds no room on the disk would be a SIGBUS.
Status fill(int descriptor, const std::string& path) {
  struct stat found{};
  if (fstat(descriptor, &found) != 0) return Failure(system_error(errno, "open", path));
  if (found.st_size >= static_cast<off_t>(sizeof(WakeWords))) return {};
  static constexpr std::array<char, sizeof(WakeWords)> kZeroes{};
  const ssize_t written = pwrite(descriptor, kZeroes.data(), kZeroes.size(), 0);
  if (written == static_cast<ssize_t>(kZeroes.size())) return {};
  return Failure(system_error(written < 0 ? errno : ENOSPC, "open", path));
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

WakeFile::WakeFile(std::string path, int descriptor, WakeWords* words, bool writable)
    : path_(std::move(path)),
      descriptor_(descriptor),
      words_(words),
      writable_(writable),
      poll_span_(writable ? kPollSpan : kPollSpanReadOnly) {}

WakeFile::~WakeFile() {
  munmap(words_, sizeof(WakeWords));
  ::close(descriptor_);
}

Result<std::unique_ptr<WakeFile>> WakeFile::open(const std::string& path, bool read_only) {
  bool writable = true;
  int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | (read_only ? 0 : O_CREAT), 0666);
  if (descriptor < 0 && read_only && (errno == EACCES || errno == EROFS)) {
    writable = false;
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  if (descriptor < 0) return Failure(system_error(errno, "open", path));
  const Status filled = writable ? fill(descriptor, path) : Status();
  if (!filled) {
    ::close(descriptor);
    return Failure(filled.error());
  }
  const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
  void* mapped = mmap(nullptr, sizeof(WakeWords), protection, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) {
    const int error_number = errno;
    ::close(descriptor);
    return Failure(system_error(error_number, "open", path));
  }
  return std::unique_ptr<WakeFile>(new WakeFile(path, descriptor, static_cast<WakeWords*>(mapped), writable));
}

void WakeFile::announce() {
  if (writable_) words_->commits.fetch_add(1, std::memory_order_release);
  futex_wake(words_->commits, INT_MAX);
}

bool WakeFile::current() const {
  struct stat opened{};
  struct stat found{};
  return fstat(descriptor_, &opened) == 0 && stat(path_.c_str(), &found) == 0 && opened.st_ino == found.st_ino &&
         opened.st_dev == found.st_dev;
}

}  // namespace tenure::sqlite
