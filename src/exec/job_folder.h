#pragma once

// The private folders of programs (TENURE_DIR): one per tenure, all below the folder of the worker process.

#include <sys/types.h>

#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "node/keys/host.h"

namespace tenure::exec {

// A folder that a dead worker has left. It is locked, so that nobody else removes it too.
struct FolderLeftBehind {
  std::string path;
  Descriptor lock;
};

// The worker's own folder, below `parent` (empty: TMPDIR, or /tmp). A lock on it is released when the process ends.
// From this the next worker finds and removes the folders of workers that died together with their guards.
class WorkFolder {
 public:
  static Result<WorkFolder> create(std::string parent);
  const std::string& path() const { return path_; }
  std::vector<FolderLeftBehind> take_left_behind() { return std::exchange(left_behind_, {}); }

 private:
  WorkFolder(std::string path, Descriptor lock, std::vector<FolderLeftBehind> left_behind)
      : path_(std::move(path)), lock_(std::move(lock)), left_behind_(std::move(left_behind)) {}
  std::string path_;
  Descriptor lock_;
  std::vector<FolderLeftBehind> left_behind_;
};

// One program's folder: `payload`, and `checkpoint` if the last holder left one. The creator has it removed
// (folder_remover.h). Its number is never reused by its worker, so a folder that is still being removed is not in the
// way of the next.
class JobFolder {
 public:
  static Result<JobFolder> create(const std::string& work, std::uint64_t number, const HeldJob& job);

  const std::string& path() const { return path_; }
  // The checkpoint, if the program has made a new one since the last call. Errc::full above the limit.
  Result<std::optional<Bytes>> new_checkpoint();

 private:
  struct Identity {
    ino_t inode = 0;
    std::int64_t changed_ns = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };

  explicit JobFolder(std::string path) : path_(std::move(path)) {}
  Identity identity() const;

  std::string path_;
  Identity seen_;
};

}  // namespace tenure::exec
