#pragma once

// Removes folders on its own thread. A program may leave hundreds of thousands of files; removing them takes seconds,
// and nobody should wait for that.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "base/descriptor.h"

namespace tenure::exec {

// Thread-safe.
class FolderRemover {
 public:
  // If this many are waiting, a further folder stays until its parent folder is removed.
  static constexpr std::size_t kWaitingMax = 1U << 16;

  explicit FolderRemover(std::size_t waiting_max = kWaitingMax);
  // Drops the current folder and the waiting ones.
  ~FolderRemover();
  FolderRemover(const FolderRemover&) = delete;
  FolderRemover& operator=(const FolderRemover&) = delete;

  // Holds `lock` until the folder is gone. False if the folder stays.
  bool remove(std::string path, Descriptor lock = {});
  std::size_t waiting() const;

 private:
  struct Doomed {
    std::string path;
    Descriptor lock;
  };

  void serve();

  const std::size_t waiting_max_;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Doomed> waiting_;  // guarded by mutex_
  std::thread thread_;          // last: it uses all of the above
};

}  // namespace tenure::exec
