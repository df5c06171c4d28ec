#pragma once

// How far a source is, as far as the tenure that emits it knows: for each shard the position that it is known to have
// taken in, and the position up to which this tenure has handed over everything. It says what has to be sent to which
// shard. Only computes; the owner sends.
//
//   1. The owner asks every shard, and enters the answers with heard(). The source goes on from the lowest of them:
//      behind it some shard may lack tasks. Shards that are further leave out what they have.
//   2. plan() splits an emit. A shard gets only its own tasks. One without any gets the position from time to time, so
//      that the next holder does not begin far behind. Each part says which position of the shard it continues from: a
//      shard that has lost entries since refuses it.
//   3. taken() enters what a shard has answered. When all have, emitted() moves on.
//
// Not thread-safe.

#include <cstdint>
#include <vector>

#include "node/sources/emission.h"

namespace tenure {

// A shard without tasks of a source hears of its position with every so many emits, and when the source rests.
constexpr std::uint32_t kTellEvery = 64;

class SourceBook {
 public:
  explicit SourceBook(std::uint32_t shards) : taken_(shards), untold_(shards) {}

  // The positions of the shards are known.
  bool known() const { return known_; }
  // An answer was lost, or a shard has lost entries: ask again.
  void doubt() { known_ = false; }
  void heard(std::uint32_t shard, std::uint64_t position);
  // All shards have answered. False if one of them has gone back: emits have to be repeated from position() on.
  bool all_heard();
  // Everything up to here is in its shard.
  std::uint64_t position() const { return reached_; }

  struct Part {
    std::uint32_t shard = 0;
    std::uint64_t after = 0;
    std::uint64_t position = 0;
    std::vector<EmitTask> tasks{};
    bool awaited = false;  // the emit is over when it was taken in; otherwise the shard is only told the position
  };
  // `shard_of`: the shard of a key. `reported`: a shard whose part is awaited even if it gets no tasks.
  static constexpr std::uint32_t kNoShard = UINT32_MAX;
  template <class ShardOf>
  std::vector<Part> plan(const Emission& emission, ShardOf shard_of, std::uint32_t reported = kNoShard);
  void taken(std::uint32_t shard, std::uint64_t position);
  // All parts that are awaited were taken in.
  void emitted(std::uint64_t position);
  // What shards have not been told of yet.
  std::vector<Part> untold() const;

 private:
  std::vector<std::uint64_t> taken_;   // by shard
  std::vector<std::uint32_t> untold_;  // by shard: emits without tasks for it since it heard of the source
  std::uint64_t reached_ = 0;
  bool known_ = false;
  bool asked_ = false;  // at least once
  bool lost_ = false;   // while it is asked: a shard has gone back
};

template <class ShardOf>
std::vector<SourceBook::Part> SourceBook::plan(const Emission& emission, ShardOf shard_of, std::uint32_t reported) {
  std::vector<Part> parts(taken_.size());
  if (parts.size() == 1) parts.front().tasks.reserve(emission.tasks.size());
  for (const EmitTask& task : emission.tasks) {
    const std::uint64_t position = task.position == 0 ? emission.position : task.position;
    const std::uint32_t shard = parts.size() == 1 ? 0 : shard_of(task.key);
    if (position <= taken_[shard]) continue;
    parts[shard].tasks.push_back(task);
    parts[shard].tasks.back().position = position;
  }
  std::vector<Part> wanted;
  for (std::uint32_t shard = 0; shard < parts.size(); ++shard) {
    Part& part = parts[shard];
    if (emission.position <= taken_[shard]) continue;
    part.awaited = !part.tasks.empty() || parts.size() == 1 || shard == reported;
    if (!part.awaited && ++untold_[shard] < kTellEvery) continue;
    part.shard = shard;
    part.after = taken_[shard];
    part.position = emission.position;
    wanted.push_back(std::move(part));
  }
  return wanted;
}

}  // namespace tenure
