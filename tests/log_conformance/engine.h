#pragma once

// The engines that the suite runs over, and the fixture its tests use. A new engine is one more entry in engines(),
// with what it can do; the tests do not change.

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "log/log.h"
#include "log/open.h"

namespace tenure::conformance {

// A place for one log, gone with the object.
class Place {
 public:
  virtual ~Place() = default;
  virtual std::string url() const = 0;
};

struct Engine {
  std::string name;
  bool across_processes = false;  // processes share a log
  bool many_pools = false;        // a place has a log for each pool, and not one that belongs to a single pool
  std::unique_ptr<Place> (*make_place)() = nullptr;

  friend std::ostream& operator<<(std::ostream& out, const Engine& engine) { return out << engine.name; }
};

std::vector<Engine> engines();
std::vector<Engine> engines_across_processes();

// Each test has a log of its own, in a place of its own.
class LogConformance : public testing::TestWithParam<Engine> {
 protected:
  std::string url() const { return place_->url(); }
  std::unique_ptr<Log> open(bool read_only = false) const;

 private:
  std::unique_ptr<Place> place_ = GetParam().make_place();
};

// The same, for the engines whose logs processes share.
class LogAcrossProcesses : public LogConformance {};

}  // namespace tenure::conformance
