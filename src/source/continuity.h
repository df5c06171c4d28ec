#pragma once

// Whether a partition is still the one that was read, judged by the marks of its reader.

#include <cstdint>
#include <vector>

#include "source/source.h"

namespace tenure::source {

struct CheckedMark {
  enum class Now : std::uint8_t {
    same,
    other,  // another event is at the position, or none was ever there
    gone,   // trimmed, which proves nothing
  };
  Mark mark;
  Now now = Now::gone;
};

struct Continuity {
  Change change = Change::none;
  std::uint64_t resumed = 0;  // the position behind which reading goes on
};

// The reader wants to read on behind `after`. For sources whose events that were read are all at or below ends.last.
Continuity judge_marks(std::uint64_t after, const std::vector<CheckedMark>& marks, const Ends& ends);

}  // namespace tenure::source
