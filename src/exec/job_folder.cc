#include "exec/job_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "guard/remove_tree.h"
#include "machine/limits.h"

namespace tenure::exec {
namespace {

constexpr BytesView kPrefix = "tenure-work-";

std::string reason(const std::string& path) { return path + ": " + std::strerror(errno); }

bool write_all(int file, BytesView bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(file, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

Status write_file(const std::string& path, BytesView bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file || fchmod(file.get(), 0600) != 0 || !write_all(file.get(), bytes))
    return fail(Errc::unavailable, "write the program's folder", reason(path));
  return {};
}

// At most this many are removed; others are left to later workers.
constexpr std::size_t kLeftBehindMax = 256;

// Leaves alone folders of other users, and those whose worker is alive.
std::optional<FolderLeftBehind> left_behind(const std::string& path) {
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != geteuid()) return std::nullopt;
  // A worker locks its new folder before it puts anything into it. An empty folder may still be without its lock, and
  // taking it even for a moment would keep its owner from starting.
  std::error_code ignored;
  if (std::filesystem::is_empty(path, ignored)) return std::nullopt;
  Descriptor lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  return FolderLeftBehind{path, std::move(lock)};
}

}  // namespace

Result<WorkFolder> WorkFolder::create(std::string parent) {
  if (parent.empty()) {
    const char* named = std::getenv("TMPDIR");
    parent = named != nullptr && *named != '\0' ? named : "/tmp";
  }
  std::error_code error;
  std::vector<FolderLeftBehind> others;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
    if (!entry.path().filename().native().starts_with(kPrefix) || others.size() >= kLeftBehindMax) continue;
    if (auto other = left_behind(entry.path())) others.push_back(*std::move(other));
  }
  std::string path = parent + "/" + std::string(kPrefix) + "XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return fail(Errc::unavailable, "make the worker's folder", reason(path));
  chmod(path.c_str(), 0700);  // whatever the umask
  Descriptor lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(Errc::unavailable, "lock the worker's folder", reason(path));
  }
  return WorkFolder(std::move(path), std::move(lock), std::move(others));
}

Result<JobFolder> JobFolder::create(const std::string& work, std::uint64_t number, const HeldJob& job) {
  JobFolder folder(work + "/" + std::to_string(number));
  if (mkdir(folder.path_.c_str(), 0700) != 0 || chmod(folder.path_.c_str(), 0700) != 0) {
    return fail(Errc::unavailable, "make the program's folder", reason(folder.path_));
  }
  Status written = write_file(folder.path_ + "/payload", job.payload);
  if (written && job.checkpoint) written = write_file(folder.path_ + "/checkpoint", *job.checkpoint);
  if (!written) {
    guard::remove_tree(folder.path_);  // it has at most two files
    return Failure(written.error());
  }
  folder.seen_ = folder.identity();
  return folder;
}

JobFolder::Identity JobFolder::identity() const {
  struct stat found{};
  if (lstat((path_ + "/checkpoint").c_str(), &found) != 0) return {};
  return {found.st_ino, found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec};
}

Result<std::optional<Bytes>> JobFolder::new_checkpoint() {
  const Identity now = identity();
  if (now == seen_ || now.inode == 0) return std::optional<Bytes>();
  const std::string path = path_ + "/checkpoint";
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat found{};
  if (!file || fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return fail(Errc::invalid, "read the checkpoint", "it is not a plain file");
  }
  seen_ = {found.st_ino, found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec};
  if (found.st_size > static_cast<off_t>(kBlobBytesMax)) {
    return fail(Errc::full, "read the checkpoint",
                "it has " + std::to_string(found.st_size) + " bytes; at most " + std::to_string(kBlobBytesMax) +
                    " are allowed: the one before it stays");
  }
  Bytes bytes(static_cast<std::size_t>(found.st_size), '\0');
  const ssize_t size = pread(file.get(), bytes.data(), bytes.size(), 0);
  if (size < 0) return fail(Errc::unavailable, "read the checkpoint", reason(path));
  bytes.resize(static_cast<std::size_t>(size));
  return std::optional(std::move(bytes));
}

}  // namespace tenure::exec
