#include "feeder/batch.h"

#include <algorithm>
#include <utility>

#include "feeder/to_task.h"

namespace tenure::feeder {
namespace {}  // namespace

void Batch::add(source::Run run) {
  if (run.lost) lost_ = SourceReport::Lost{run.lost->first, run.lost->last, run.lost->count};
  if (tasks_.empty()) tasks_.reserve(run.events.size());
  for (source::Event& event : run.events) {
    marks_.push_back(source::mark_of(event));
    tasks_.push_back(to_task(std::move(event), spec_, names_, prefix_));
    bytes_ += bytes_of(tasks_.back());
  }
  position_ = std::max(position_, run.position);
}

void Batch::start(std::uint64_t position, std::uint64_t told) {
  tasks_.clear();
  marks_.clear();
  cut_marks_.clear();
  lost_.reset();
  bytes_ = 0;
  position_ = position;
  told_ = told;
}

std::size_t Batch::fitting(std::size_t most, const std::function<bool(const EmitTask&)>& takes) const {
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (const EmitTask& task : tasks_) {
    bytes += bytes_of(task);
    if (count == most || bytes > kEmitBytesMax || (takes && !takes(task))) break;
    ++count;
  }
  return count;
}

std::shared_ptr<Emission> Batch::cut(std::size_t tasks) {
  auto emission = std::make_shared<Emission>();
  const auto marks_end = marks_.begin() + static_cast<std::ptrdiff_t>(tasks);
  cut_marks_.assign(marks_.begin(), marks_end);
  marks_.erase(marks_.begin(), marks_end);
  if (tasks == tasks_.size()) {
    emission->tasks = std::exchange(tasks_, {});
    emission->position = position_;
    bytes_ = 0;
  } else {
    const auto end = tasks_.begin() + static_cast<std::ptrdiff_t>(tasks);
    emission->tasks.assign(std::make_move_iterator(tasks_.begin()), std::make_move_iterator(end));
    tasks_.erase(tasks_.begin(), end);
    for (const EmitTask& task : emission->tasks) bytes_ -= bytes_of(task);
    emission->position = emission->tasks.back().position;
  }
  told_ = emission->position;
  emission->report.lost = std::exchange(lost_, {});
  return emission;
}

void Batch::put_back(Emission emission) {
  for (const EmitTask& task : emission.tasks) bytes_ += bytes_of(task);
  tasks_.insert(tasks_.begin(), std::make_move_iterator(emission.tasks.begin()),
                std::make_move_iterator(emission.tasks.end()));
  marks_.insert(marks_.begin(), cut_marks_.begin(), cut_marks_.end());
  cut_marks_.clear();
  lost_ = emission.report.lost;
  told_ = 0;  // it is sent again with the next emit
}

}  // namespace tenure::feeder
