#pragma once

// The holds of a history with the spans in which their leases were valid. Several promises are judged by them.

#include <map>
#include <string>
#include <vector>

#include "sim/checker/history.h"

namespace tenure::sim {

constexpr Time kForever = INT64_MAX;

struct Span {
  Time from;
  Time until;  // not included
  bool contains(Time at) const { return from <= at && at < until; }
};

struct PastHold {
  ProcessNumber process;
  std::uint64_t session;
  std::string key;
  std::uint64_t epoch;
  std::uint64_t ticket;
  std::uint64_t given;
  Time began;
  Time ended = kForever;  // by itself or with its process
  bool crashed = false;   // it ended with its process

  std::string name() const;  // "tenant-3 epoch 17 (process 2)"
};

struct PastHolds {
  explicit PastHolds(const History& history);

  // When the lease of a session was valid: disjoint, in order.
  const std::vector<Span>& lease(std::uint64_t session) const;
  bool lease_valid(std::uint64_t session, Time at) const;

  std::vector<PastHold> all;  // by the time they began
  std::map<std::string, std::vector<std::size_t>> by_key;
  std::map<ProcessNumber, std::vector<Span>> pauses;
  std::map<ProcessNumber, Time> crashes;
  std::vector<Time> losses;        // when the log lost entries
  std::vector<Time> replacements;  // of these: all of them, while readers went on with what they had of the old log
  Time last = 0;                   // when the history ends

  bool lost_within(Time at, Time span) const;  // the log lost entries in that span before `at`
  bool replaced_within(Time at, Time span) const;

 private:
  std::map<std::uint64_t, std::vector<Span>> leases_;
};

std::string seconds(Time at);

}  // namespace tenure::sim
