#pragma once

// The marks of the events that a partition's reader has seen: all of the last ones, and fewer and fewer of those
// before. They find the place at which a partition was cut: exactly among the last ones, and with a distance in
// proportion to its age before.

#include <algorithm>
#include <optional>
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
  std::optional<Mark> newest_mark() const { return marks_.empty() ? std::nullopt : std::optional(marks_.back()); }

 private:
  // Drops older ones whose neighbours are close to each other, compared with their age. The oldest one stays.
  void thin_out() {
    constexpr std::uint64_t kNear = 4;
    const std::uint64_t newest = marks_.back().position;
    std::vector<Mark> kept(marks_.rbegin(), marks_.rbegin() + kAll);
    for (auto mark = marks_.rbegin() + kAll; mark != marks_.rend(); ++mark) {
      const auto older = mark + 1;
      const bool near =
          older != marks_.rend() && (kept.back().position - older->position) * kNear <= newest - older->position;
      if (!near) kept.push_back(*mark);
    }
    std::reverse(kept.begin(), kept.end());
    marks_ = std::move(kept);
  }

  std::vector<Mark> marks_;
};

}  // namespace tenure::source
