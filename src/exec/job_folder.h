#pragma once

// The private folders of programs (TENURE_DIR): one per tenure, all below one of the worker process.

#include <sys/types.h>

#include <ctime>
#include <optional>
#include <string>

#include "base/result.h"
#include "exec/descriptor.h"
#include "node/host.h"

namespace tenure::exec {

// The worker's own, below `parent` (empty: TMPDIR, or /tmp). A lock on it falls with the process: folders of workers
// that died together with their guards are found by that, and removed by the next worker that starts.
class WorkFolder {
 public:
  static Result<WorkFolder> create(std::string parent);
  const std::string& path() const { return path_; }

 private:
  WorkFolder(std::string path, Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  Descriptor lock_;
};

// One program's: `payload`, and `checkpoint` where the last holder left one. Removed by remove().
class JobFolder {
 public:
  static Result<JobFolder> create(const std::string& work, std::uint64_t number, const HeldJob& job);

  const std::string& path() const { return path_; }
  // The checkpoint, if the program has put a new one in the place of the last that was seen here. Errc::full for one
  // over the bound.
  Result<std::optional<Bytes>> new_checkpoint();
  void remove() const;

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
