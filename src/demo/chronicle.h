#pragma once

// The events of the demo, in words. Thread-safe.

#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"

namespace tenure::demo {

struct Happening {
  Nanos at{};  // since the demo began
  std::string text{};
  bool good = true;
};

class Chronicle {
 public:
  // `listener`, if there is one, is called for each event.
  explicit Chronicle(std::function<void(const Happening&)> listener = {}) : listener_(std::move(listener)) {}

  void add(std::string text, bool good = true) {
    const Happening happening{age(), std::move(text), good};
    if (listener_) listener_(happening);
    std::lock_guard lock(mutex_);
    happenings_.push_back(happening);
    if (happenings_.size() > kKept) happenings_.pop_front();
  }

  std::vector<Happening> last() const {
    std::lock_guard lock(mutex_);
    return {happenings_.begin(), happenings_.end()};
  }

  Nanos age() const { return clock_.now() - begin_; }

 private:
  static constexpr std::size_t kKept = 64;

  const BootClock clock_;
  const Instant begin_ = clock_.now();
  const std::function<void(const Happening&)> listener_;
  mutable std::mutex mutex_;
  std::deque<Happening> happenings_;  // guarded by mutex_; the last kKept
};

}  // namespace tenure::demo
