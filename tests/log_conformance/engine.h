#pragma once

// The engines that the suite tests, and the fixture of its tests. A new engine needs one source file that registers
// what it can do. The tests do not change.

#include <gtest/gtest.h>

#include <functional>
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
  // A log of which nothing was made before.
  virtual std::string fresh_url() const { return url(); }
  // All that is there, by name.
  virtual std::vector<std::string> leftovers() const { return {}; }
};

template <class Kind>
std::unique_ptr<Place> make() {
  return std::make_unique<Kind>();
}

struct TestEngine {
  std::string name;
  bool across_processes = false;        // processes share a log
  bool many_pools = false;              // a place has a log for each pool, and not one that belongs to a single pool
  bool pool_tests_with_shards = false;  // every test of a pool also runs on a pool that was created with shards
  std::function<std::unique_ptr<Place>()> make_place{};

  friend std::ostream& operator<<(std::ostream& out, const TestEngine& engine) { return out << engine.name; }
};

// Adds an engine to the list below. Made before main() begins, as a constant of the engine's own file.
struct RegisteredEngine {
  explicit RegisteredEngine(TestEngine engine);
};

// In the order of their names.
std::vector<TestEngine> test_engines();
std::vector<TestEngine> test_engines_across_processes();

// Each test has a log of its own, in a place of its own.
class LogConformance : public testing::TestWithParam<TestEngine> {
 protected:
  std::string url() const { return place_->url(); }
  std::string fresh_url() const { return place_->fresh_url(); }
  std::vector<std::string> leftovers() const { return place_->leftovers(); }
  std::unique_ptr<Log> open(bool read_only = false) const;

 private:
  std::unique_ptr<Place> place_ = GetParam().make_place();
};

// The same, for the engines whose logs processes share.
class LogAcrossProcesses : public LogConformance {};

}  // namespace tenure::conformance
