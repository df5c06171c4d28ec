#pragma once

// The marks of the events that a partition's reader has seen: all of the last ones, and fewer and fewer of those
// before. They find the place at which a partition was cut: exactly among the last ones, and with a distance in
// proportion to its age before.

#include <algorithm>
#include <vector>

#include "source/source.h"

namespace tenure::source {

// Not thread-safe.
class RecentMarks {
 public:
  static constexpr std::size_t kAll = 256;  // of the last ones, every one is kept
  static constexpr std::size_t kMax = 512;

  void start(std::vector<Mark> marks) { marks_ = std::move(marks); }
  void add(Mark mark) {
    if (marks_.size() >= kMax) thin_out();
    marks_.push_back(mark);
  }
  // Forgets those behind this position.
  void cut(std::uint64_t position) {
    while (!marks_.empty() && marks_.back().position > position) marks_.pop_back();
  }
  // In ascending order.
  const std::vector<Mark>& all() const { return marks_; }
  std::uint64_t newest() const { return marks_.empty() ? 0 : marks_.back().position; }

 private:
  // Drops every second one of the older ones.
  void thin_out() {
    const std::size_t older = marks_.size() - kAll;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      if (i >= older || i % 2 == 0) marks_[kept++] = marks_[i];
    }
    marks_.resize(kept);
  }

  std::vector<Mark> marks_;
};

}  // namespace tenure::source
