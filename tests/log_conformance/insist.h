#pragma once

// Handles at a URL, and calls that are retried as a node does it.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "log/open.h"
#include "log_conformance/waiting.h"

namespace tenure::conformance {

inline Result<std::unique_ptr<Log>> try_open(const std::string& url, const std::string& pool = "default") {
  return open_log(url, {.pool = pool, .read_only = false});
}

inline std::unique_ptr<Log> open_at(const std::string& url) {
  auto log = try_open(url);
  EXPECT_TRUE(log) << log.error().message();
  return log ? std::move(*log) : nullptr;
}

// Tries again what is worth another try, until kDeadline.
template <class Act>
auto insist(const Act& act) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  for (;;) {
    auto result = act();
    if (result || std::chrono::steady_clock::now() > deadline) return result;
    if (result.error().code != Errc::unavailable && result.error().code != Errc::unknown) return result;
    std::this_thread::yield();
  }
}

inline Result<Position> insist_append(Log& log, const Bytes& data) {
  return insist([&] { return append(log, data); });
}

inline Result<std::vector<Entry>> insist_read(Log& log, Cursor after) {
  return insist([&] { return read(log, after); });
}

}  // namespace tenure::conformance
