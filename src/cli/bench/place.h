#pragma once

// A place for a benchmark: the engine that was named, or a file of its own on the disk of the present folder, where
// fdatasync costs what it costs. On a server each log is a pool of its own, which is removed in the end.

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/call.h"
#include "log/engines.h"

namespace tenure::cli {

// Where a log is.
struct BenchSpot {
  std::string url;
  std::string pool = "default";
};

class BenchPlace {
 public:
  // --engine, or the server that TENURE_ENGINE names, or a file. Except on a server, nobody else uses the place.
  static Result<BenchPlace> of(const Call& call);
  ~BenchPlace();
  BenchPlace(BenchPlace&& other) noexcept;
  BenchPlace& operator=(BenchPlace&&) = delete;

  // A log of that name; each is fresh.
  BenchSpot spot(const std::string& name) const;
  // As it may be shown: "sqlite:?sync=full", "memory:", "redis://host:6379".
  const std::string& shown() const { return shown_; }
  const Engine& engine() const { return engine_; }
  Reach reach() const { return engine_.reach; }

 private:
  explicit BenchPlace(const Engine& engine) : engine_(engine) {}

  const Engine& engine_;
  std::string shown_;
  std::string options_;                     // of a file's URL, with the question mark
  std::string folder_;                      // of a file
  std::string server_;                      // the URL of a server
  mutable std::vector<std::string> pools_;  // what was given out on it
};

}  // namespace tenure::cli
