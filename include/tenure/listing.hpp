#pragma once

// The results of a pool's listings: plain values, as of one position of the log. Not thread-safe.

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
  bool unfit = false;                // its starts keep failing: it gets no keys, but for one now and then to try
  std::string error{};               // of the last start that failed there, if none has succeeded since
  std::uint64_t keys = 0;            // keys it holds
  std::uint32_t tasks = 0;           // the part of `keys` held for a task
  std::vector<std::string> takes{};  // "task", "resident:x", …; empty: every job
  std::chrono::milliseconds lease{0};
  std::chrono::milliseconds age{0};
};

// A key, and the first of its jobs.
struct KeyInfo {
  std::string key{};
  JobKind kind = JobKind::resident;
  std::string type{};
  JobState state = JobState::queued;
  std::string worker{};     // the holder, or empty
  std::uint64_t epoch = 0;  // the present or last tenure's; zero before the first
  std::uint32_t attempt = 0;
  std::chrono::milliseconds in_state{0};  // time since the last change of state
  std::string why{};                      // what the job waits for, in words; empty if it does not wait
  std::string error{};                    // the job's last error, if it has not run well since
};

struct KeyQuery {
  std::uint64_t from = 0;  // KeyPage::next of the previous page; zero for the first
  std::size_t limit = 100;
  std::string prefix{};             // only keys with this prefix
  std::string worker{};             // only keys held by this worker; empty: all
  std::optional<JobState> state{};  // only keys in this state
};

// One page of keys, in no particular order. Keys may be added and removed between two pages; a key that exists
// throughout appears exactly once.
struct KeyPage {
  std::vector<KeyInfo> keys{};
  std::optional<std::uint64_t> next{};  // empty on the last page
};

// A source of tasks (docs/emit.md).
struct SourceInfo {
  std::string name{};
  std::string key{};           // of the resident that emitted it last
  std::uint64_t epoch = 0;     // of its tenure
  std::uint64_t position = 0;  // everything up to it was taken in, by all shards
  std::uint64_t tasks = 0;     // that were taken in
  std::uint64_t buried = 0;    // of them, at once, because their keys had residents, or their events cannot be tasks

  // Of a source that the pool reads by itself (Pool::add_source): `name` is that of the source, and each partition has
  // an entry. An entry without a partition stands for the whole source.
  bool fed = false;
  std::string partition{};
  std::uint64_t end = 0;         // the position of the newest event, when a feeder last looked; zero: not known
  std::uint64_t lost = 0;        // events that the source had dropped before they were read
  std::uint64_t lost_first = 0;  // the last range of them
  std::uint64_t lost_last = 0;
  std::chrono::milliseconds lost_age{0};  // since that was noticed
  std::string trouble{};                  // why it cannot be read
};

// A partition of a pool with partitioned workers (tenure/partition.hpp).
enum class PartitionRole : std::uint8_t { none, primary, secondary, other };

struct PartitionInfo {
  std::uint32_t partition = 0;
  std::string worker{};                    // the holder, or empty
  std::optional<std::uint32_t> ordinal{};  // the holder's
  PartitionRole role = PartitionRole::none;
  std::uint64_t epoch = 0;                 // the present or last tenure's; zero before the first
  std::optional<std::uint64_t> backlog{};  // as its holder last said
  JobState state = JobState::queued;
  std::chrono::milliseconds in_state{0};
  std::string why{};    // what it waits for, in words; empty if it does not wait
  std::string error{};  // the last one, if it has not run well since
  bool lent = false;    // surge has brought it to an idle worker
};

struct Holder {
  std::string worker{};
  std::uint64_t epoch = 0;
};

// A dead letter: a job that is out of attempts or quarantined. A person retries or drops it.
struct DeadJob {
  std::uint64_t id = 0;
  std::string key{};
  JobKind kind = JobKind::task;
  std::string type{};
  bool quarantined = false;
  std::uint64_t epoch = 0;  // the epoch of its last tenure
  std::string error{};
  std::string payload{};
  std::chrono::milliseconds age{0};
  std::uint32_t attempts = 0;  // how often it was tried
};

}  // namespace tenure
