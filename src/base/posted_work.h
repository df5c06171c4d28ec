#pragma once

// Work that other threads hand to a thread which waits on descriptors (poll, epoll).

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "base/assert.h"
#include "base/descriptor.h"

namespace tenure {

// Thread-safe. The callers bound the work.
class PostedWork {
 public:
  PostedWork() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { ASSERT(wake_); }

  // Readable while there is work. The waiting thread then calls run().
  int descriptor() const { return wake_.get(); }

  void post(std::function<void()> work) {
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      first = posted_.empty();
      posted_.push_back(std::move(work));
    }
    const std::uint64_t one = 1;
    if (first) (void)!::write(wake_.get(), &one, sizeof one);
  }

  // Runs everything that was posted before, without the lock.
  void run() {
    std::uint64_t ignored = 0;
    (void)!::read(wake_.get(), &ignored, sizeof ignored);
    std::deque<std::function<void()>> posted;
    {
      const std::lock_guard lock(mutex_);
      posted.swap(posted_);
    }
    for (const auto& work : posted) work();
  }

 private:
  const Descriptor wake_;
  std::mutex mutex_;
  std::deque<std::function<void()>> posted_;  // guarded by mutex_
};

}  // namespace tenure
