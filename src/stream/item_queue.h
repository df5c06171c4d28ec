#pragma once

// The bounded queue behind StreamReader::next(): the items of all streams, and their errors.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <tenure/stream_reader.hpp>

#include "base/deadline.h"

namespace tenure {

// Thread-safe.
class ItemQueue {
 public:
  struct Entry {
    std::optional<StreamItem> item{};  // none: only the position has moved
    StreamPosition behind{};
  };

  explicit ItemQueue(std::size_t entries_max) : entries_max_(entries_max) {}

  // Waits for room. False once stopped.
  bool put(Entry entry) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return stopped_ || entries_.size() < entries_max_; });
    if (stopped_) return false;
    entries_.push_back(std::move(entry));
    lock.unlock();
    ready_.notify_one();
    return true;
  }

  // The error of a stream, or nothing when it can be read again. take() returns a lasting error at once, and then each
  // time a wait runs out. It returns a passing error only when a wait runs out.
  void set_trouble(const std::string& stream, std::optional<Error> trouble) {
    const std::lock_guard lock(mutex_);
    if (!trouble && trouble_of_ == stream) trouble_.reset();
    if (!trouble) return;
    if (!trouble_ || trouble_->code != trouble->code) urgent_ = trouble->code != Errc::unavailable;
    trouble_of_ = stream;
    trouble_ = std::move(trouble);
    ready_.notify_one();
  }

  Result<Entry> take(Deadline deadline) {
    std::unique_lock lock(mutex_);
    const bool came = ready_.wait_until(lock, deadline, [this] { return stopped_ || !entries_.empty() || urgent_; });
    if (stopped_) return Failure({Errc::closed, "read stream", "the reader was stopped"});
    if (!entries_.empty()) {
      Entry entry = std::move(entries_.front());
      entries_.pop_front();
      lock.unlock();
      room_.notify_one();
      return entry;
    }
    urgent_ = false;
    if (trouble_) return Failure(*trouble_);
    if (came) return Entry{};
    return Failure({Errc::timed_out, "read stream", "no event came in time"});
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    room_.notify_all();
    ready_.notify_all();
  }
  bool stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }

 private:
  const std::size_t entries_max_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable ready_;
  // All below is guarded by mutex_.
  std::deque<Entry> entries_;
  std::optional<Error> trouble_;
  std::string trouble_of_;
  bool urgent_ = false;  // the trouble is new
  bool stopped_ = false;
};

}  // namespace tenure
