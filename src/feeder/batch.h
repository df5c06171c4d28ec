#pragma once

// The tasks of a partition that wait to be emitted, in the order of their positions. Not thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "feeder/spec.h"
#include "node/sources/emission.h"
#include "source/source.h"

namespace tenure::feeder {

class Batch {
 public:
  // `names` and `prefix`: see to_task().
  Batch(const Spec& spec, const source::Source& names, Bytes prefix)
      : spec_(spec), names_(names), prefix_(std::move(prefix)) {}

  // A run with a loss needs an empty batch, because the loss is counted with the next emit.
  void add(source::Run run);

  // True if no task and no position is left to emit.
  bool empty() const { return tasks_.empty() && position_ <= told_ && !lost_; }
  bool has_loss() const { return lost_.has_value(); }
  std::size_t size() const { return tasks_.size(); }
  std::size_t bytes() const { return bytes_; }
  // Everything up to here was read.
  std::uint64_t position() const { return position_; }
  // Call it before the batch is filled: the position that was read, and the one that the pool has.
  void start(std::uint64_t position, std::uint64_t told);

  // How many of the first tasks fit into one emit: up to the number given, within the limit of bytes, and until
  // `takes` returns false.
  std::size_t fitting(std::size_t most, const std::function<bool(const EmitTask&)>& takes) const;
  // Removes and returns the first tasks. If it takes all of them, the position of the last event read goes with them.
  std::shared_ptr<Emission> cut(std::size_t tasks);
  // Undoes the last cut.
  void put_back(Emission emission);
  // Of the last event of the last cut. Nothing if it has none.
  std::optional<source::Mark> cut_mark() const {
    return cut_marks_.empty() ? std::nullopt : std::optional(cut_marks_.back());
  }

 private:
  const Spec& spec_;
  const source::Source& names_;
  const Bytes prefix_;
  std::vector<EmitTask> tasks_;
  std::size_t bytes_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t told_ = 0;  // the position of the last emit
  std::optional<SourceReport::Lost> lost_;
  std::vector<source::Mark> marks_;      // one for each task
  std::vector<source::Mark> cut_marks_;  // of the last cut
};

}  // namespace tenure::feeder
