#pragma once

// Some of the jobs that a pool may have: what a worker says when it does not take every job.

#include <optional>
#include <string>
#include <tenure/kinds.hpp>

namespace tenure {

struct JobMatch {
  std::optional<JobKind> kind{};      // empty: of either kind
  std::optional<std::string> type{};  // empty: of any type. The type "" is that of jobs without one
};

}  // namespace tenure
