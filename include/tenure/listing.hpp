#pragma once

// What the listings of a pool give: plain values, as of one position of the log.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <tenure/kinds.hpp>
#include <vector>

namespace tenure {

struct WorkerInfo {
  std::string id{};
  std::string node{};
  std::string host{};
  std::uint32_t pid = 0;
  std::uint32_t weight = 0;
  bool draining = false;
  std::uint64_t keys = 0;   // that it holds
  std::uint32_t tasks = 0;  // of those
  std::chrono::milliseconds lease{0};
  std::chrono::milliseconds age{0};
};

// The job at the head of a key.
struct KeyInfo {
  std::string key{};
  JobKind kind = JobKind::resident;
  JobState state = JobState::queued;
  std::string worker{};     // the holder, or empty
  std::uint64_t epoch = 0;  // of the present or last tenure; zero before the first
  std::uint32_t attempt = 0;
  std::chrono::milliseconds in_state{0};  // since the state last changed
};

struct KeyQuery {
  std::uint64_t from = 0;  // where to go on: KeyPage::next, or zero
  std::size_t limit = 100;
  std::string prefix{};             // only keys that begin with it
  std::string worker{};             // only those it holds; any if empty
  std::optional<JobState> state{};  // only those
};

// Keys come in no particular order. Between two pages keys may come and go; one that stays is given exactly once.
struct KeyPage {
  std::vector<KeyInfo> keys{};
  std::optional<std::uint64_t> next{};  // nothing at the end
};

struct Holder {
  std::string worker{};
  std::uint64_t epoch = 0;
};

// A job that has used up its attempts, or was quarantined, and waits for a person.
struct DeadJob {
  std::uint64_t id = 0;
  std::string key{};
  JobKind kind = JobKind::task;
  bool quarantined = false;
  std::uint64_t epoch = 0;  // of its last tenure
  std::string error{};
  std::string payload{};
  std::chrono::milliseconds age{0};
};

}  // namespace tenure
