#pragma once

// Tasks of a partition that were read and wait to be emitted, in the order of their positions. Not thread-safe.

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

  // Only an empty batch takes a run with a loss: it is counted with the first emission behind it.
  void add(source::Run run);

  // Nothing is left, not even a position to be told.
  bool empty() const { return tasks_.empty() && position_ <= told_ && !lost_; }
  bool has_loss() const { return lost_.has_value(); }
  std::size_t size() const { return tasks_.size(); }
  std::size_t bytes() const { return bytes_; }
  // Everything up to here was read.
  std::uint64_t position() const { return position_; }
  // What was read, and what the pool knows of it, before the batch is filled.
  void start(std::uint64_t position, std::uint64_t told);

  // How many of the first tasks an emission can have: so many at most, within its limit of bytes, and as long as
  // `takes` says yes to each.
  std::size_t fitting(std::size_t most, const std::function<bool(const EmitTask&)>& takes) const;
  // Takes the first tasks, or all of them and the position behind them.
  std::shared_ptr<Emission> cut(std::size_t tasks);
  // Puts back what was cut last.
  void put_back(Emission emission);
  // A mark of an event up to this position, if there is a new one.
  std::optional<source::Mark> mark_up_to(std::uint64_t position);

 private:
  const Spec& spec_;
  const source::Source& names_;
  const Bytes prefix_;
  std::vector<EmitTask> tasks_;
  std::size_t bytes_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t told_ = 0;  // the position of the last emission
  std::optional<SourceReport::Lost> lost_;
  std::vector<source::Mark> marks_;  // ascending; of some events, the last of each run among them
};

}  // namespace tenure::feeder
