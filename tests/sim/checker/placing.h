#pragma once

// Who should hold what, by what users said: a worker that serves a key has it, and otherwise the users' function
// decides. Where neither does, any worker will do.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/checker/choice.h"
#include "sim/checker/history.h"

namespace tenure::sim {

class Placing {
 public:
  explicit Placing(Choice choice) : choice_(choice) {}

  void apply(const Event& event);
  // Whether this worker may hold the key in the end.
  bool fits(const std::string& key, const std::string& worker) const;
  // When a worker last came or went, or a key was last served or no more.
  Time changed() const { return changed_; }
  bool any_workers() const { return !workers_.empty(); }

 private:
  void gone(ProcessNumber process, Time at);

  Choice choice_;
  std::map<std::string, ProcessNumber> workers_;
  std::map<std::string, std::set<std::pair<ProcessNumber, std::string>>> servers_;  // by key
  Time changed_ = 0;
};

}  // namespace tenure::sim
