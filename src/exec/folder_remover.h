#pragma once

// Removes folders on a thread of its own. A program may leave hundreds of thousands of files, which takes seconds;
// nobody waits for that.

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
  // A folder that comes when so many wait stays where it is, for whoever removes the folder that it lies in.
  static constexpr std::size_t kWaitingMax = 1U << 16;

  explicit FolderRemover(std::size_t waiting_max = kWaitingMax);
  // Gives up what it is at, and what waits.
  ~FolderRemover();
  FolderRemover(const FolderRemover&) = delete;
  FolderRemover& operator=(const FolderRemover&) = delete;

  // `lock` is held until it is gone. False if it stays.
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
