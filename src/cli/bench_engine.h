#pragma once

// A place for a benchmark: the engine that was named, or a file of its own on the disk of the present folder, where
// fdatasync costs what it costs. On a server each log is a pool of its own, and removed in the end.

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/call.h"

namespace tenure::cli {

// Where a log is.
struct BenchSpot {
  std::string url;
  std::string pool = "default";
};

class BenchPlace {
 public:
  // --engine, or the server that TENURE_ENGINE names; else, and for `memory:`, a fresh place that nobody else uses.
  static Result<BenchPlace> of(const Call& call);
  ~BenchPlace();
  BenchPlace(BenchPlace&& other) noexcept;
  BenchPlace& operator=(BenchPlace&&) = delete;

  // A log of that name; each is fresh.
  BenchSpot spot(const std::string& name) const;
  // As it may be shown: "sqlite:?sync=full", "memory:", "redis://host:6379".
  const std::string& engine() const { return engine_; }

 private:
  BenchPlace() = default;

  std::string engine_;
  std::string folder_;                      // of a file
  std::string server_;                      // the URL of a server
  mutable std::vector<std::string> pools_;  // what was given out on it
};

}  // namespace tenure::cli
