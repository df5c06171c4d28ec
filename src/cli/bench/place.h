#pragma once

// Where a benchmark runs: on the named engine, or on a new file in the current folder, where fdatasync has its real
// cost. A named file must not exist yet. The spot "pool" is in it, other spots are in files whose names begin with its
// name. On a server each log is a separate pool. Everything is removed at the end.

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/call.h"
#include "log/engines.h"

namespace tenure::cli {

// The place of one log.
struct BenchSpot {
  std::string url;
  std::string pool = "default";
};

class BenchPlace {
 public:
  // Uses --engine, the server in TENURE_ENGINE, or a file. Except on a server, nobody else uses the place.
  static Result<BenchPlace> of(const Call& call);
  ~BenchPlace();
  BenchPlace(BenchPlace&& other) noexcept;
  BenchPlace& operator=(BenchPlace&&) = delete;

  // A fresh log with this name.
  BenchSpot spot(const std::string& name) const;
  // For output, without a password: "sqlite:?sync=full", "memory:", "redis://host:6379".
  const std::string& shown() const { return shown_; }
  const Engine& engine() const { return engine_; }
  Reach reach() const { return engine_.reach; }

 private:
  explicit BenchPlace(const Engine& engine) : engine_(engine) {}

  const Engine& engine_;
  std::string shown_;
  std::string options_;                     // options of a file's URL, with the question mark
  std::string folder_;                      // the folder of the files, if none was named
  std::string file_;                        // the named file
  std::set<std::string> others_;            // the names beside it that were there before and begin with its name
  std::string server_;                      // the URL of a server
  mutable std::vector<std::string> pools_;  // the pools created there
};

}  // namespace tenure::cli
