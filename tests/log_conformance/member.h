#pragma once

// A member of a pool as the log sees it, for tests that tamper with the log's keys or files.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "log_conformance/waiting.h"

namespace tenure::conformance {

// Appends, and reads up to what was appended.
inline Entry put(Log& log, const Bytes& data, Cursor after = {}) {
  const auto position = append(log, data);
  EXPECT_TRUE(position) << position.error().message();
  for (;;) {
    const auto run = read(log, after);
    EXPECT_TRUE(run) << run.error().message();
    if (!run || !position) return {};
    if (run->back().position >= *position) return run->back();
    after = Cursor::at(run->back());
  }
}

// What a member does while its log is tampered with.
enum class Life : std::uint8_t { idle, beating, busy };

inline const char* name_of(Life life) {
  switch (life) {
    case Life::idle: return "idle";
    case Life::beating: return "beating";
    case Life::busy: return "busy";
  }
  return "";
}

// A member: reads continuously, and appends as its life says. A beat counts as confirmed once it was read.
class Member {
 public:
  Member(std::unique_ptr<Log> log, Cursor after, Life life) : log_(std::move(log)), life_(life) {
    read_on(after);
    if (life_ != Life::idle) beats_ = std::thread([this] { beat_on(); });
  }
  ~Member() {
    stopping_ = true;
    if (beats_.joinable()) beats_.join();
    log_->close();
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  Log& log() { return *log_; }
  bool lost() const { return lost_; }
  bool has_read(const Bytes& data) {
    const std::lock_guard lock(mutex_);
    return std::find(read_.begin(), read_.end(), data) != read_.end();
  }

 private:
  void read_on(Cursor after) {
    log_->read(after, [this](Result<std::vector<Entry>> run) {
      if (!run) {
        lost_ = lost_ || run.error().code == Errc::lost_history || run.error().code == Errc::trimmed ||
                run.error().code == Errc::refused;
        return;
      }
      {
        const std::lock_guard lock(mutex_);
        for (const Entry& entry : *run) read_.push_back(entry.data);
      }
      read_on(Cursor::at(run->back()));
    });
  }

  void beat_on() {
    for (int i = 0; !stopping_ && !lost_; ++i) {
      const auto beat = append(*log_, "beat " + std::to_string(i), Lane::beat);
      if (!beat && beat.error().code == Errc::lost_history) lost_ = true;
      for (int j = 0; life_ == Life::busy && j < 20; ++j) (void)append(*log_, Bytes(100, 'x'));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  const std::unique_ptr<Log> log_;
  const Life life_;
  std::atomic<bool> lost_ = false;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::vector<Bytes> read_;
  std::thread beats_;
};

template <class Condition>
inline bool soon(std::chrono::milliseconds span, const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + span;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace tenure::conformance
