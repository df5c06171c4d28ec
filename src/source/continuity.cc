#include "source/continuity.h"

#include <algorithm>

namespace tenure::source {

Continuity judge_marks(std::uint64_t after, const std::vector<CheckedMark>& marks, const Ends& ends) {
  const auto is_other = [](const CheckedMark& mark) { return mark.now == CheckedMark::Now::other; };
  const bool beyond = !marks.empty() && after > ends.last;
  if (!beyond && std::none_of(marks.begin(), marks.end(), is_other)) return {.change = Change::none, .resumed = after};
  std::uint64_t holds = 0;
  for (const CheckedMark& mark : marks) {
    if (mark.now == CheckedMark::Now::same) holds = std::max(holds, mark.mark.position);
  }
  if (holds != 0) return {.change = Change::cut, .resumed = holds};
  return {.change = Change::anew, .resumed = ends.first - 1};
}

}  // namespace tenure::source
