#pragma once

// The sources of `tenure work --source URL`. They are read by a second member of the pool in this process, a Pool of
// the library. The workers' own member has programs for handlers, and its host knows nothing of threads; a host that
// could do both would have to sort each of its jobs. The second member costs a session and another reader of the log,
// only in processes that read sources.

#include <memory>
#include <string>
#include <tenure/pool.hpp>
#include <vector>

#include "base/result.h"
#include "cli/call.h"
#include "cli/signals.h"
#include "cli/work_run.h"

namespace tenure::cli {

// Errc::invalid if one of the URLs is malformed.
Status check_sources(const std::vector<std::string>& urls);

class WorkSources {
 public:
  // `core`: the options of the workers' own member. `beside`: what else that member does, or nothing. Nothing is opened
  // if there is nothing to do. The workers hold jobs already, so an engine that cannot be reached is tried again for a
  // while; Errc::closed if a signal came meanwhile.
  static Result<std::unique_ptr<WorkSources>> open(const WorkPlan& plan, const Signals& signals);

  // Hands the partitions over.
  void close();

 private:
  static Result<std::unique_ptr<WorkSources>> try_open(const WorkPlan& plan);
  explicit WorkSources(Pool pool) : pool_(std::move(pool)) {}

  Pool pool_;
};

}  // namespace tenure::cli
