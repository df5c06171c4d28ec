#pragma once

// A place for a benchmark: the engine that was named, or a file of its own on the disk of the present folder, where
// fdatasync costs what it costs.

#include <string>

#include "base/result.h"
#include "cli/call.h"

namespace tenure::cli {

class BenchPlace {
 public:
  // --engine; without one, and for `memory:`, a fresh place that nobody else uses.
  static Result<BenchPlace> of(const Call& call);
  ~BenchPlace();
  BenchPlace(BenchPlace&& other) noexcept;
  BenchPlace& operator=(BenchPlace&&) = delete;

  // The n-th log here; each is fresh. Named ones are under the pool's name with a suffix.
  std::string url(const std::string& name) const;
  const std::string& engine() const { return engine_; }

 private:
  BenchPlace(std::string engine, std::string folder) : engine_(std::move(engine)), folder_(std::move(folder)) {}

  std::string engine_;  // "sqlite:?sync=full", "memory:"
  std::string folder_;
};

}  // namespace tenure::cli
