#pragma once

// Why a job waits, in words for people.

#include <map>
#include <tuple>

#include "machine/machine.h"

namespace tenure {

// For one listing: what was found out for one job serves the others that wait for the same. The machine must not
// change meanwhile.
class WhyWaiting {
 public:
  explicit WhyWaiting(const Machine& machine) : machine_(machine) {}

  // Empty if the job does not wait.
  Bytes of(const JobInfo& job);

 private:
  Bytes queued(const JobInfo& job);

  const Machine& machine_;
  std::map<std::tuple<JobKind, BytesView, BytesView>, Bytes> queued_;  // by kind, target and type
};

}  // namespace tenure
