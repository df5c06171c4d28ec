#pragma once

// A place for a benchmark: the engine that was named, or a file of its own on the disk of the present folder, where
// fdatasync costs what it costs. And what the bare engine does there.

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/call.h"
#include "cli/distribution.h"

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

struct Baseline {
  std::string what;
  double per_s = 0;
  Distribution hop;  // from an append to a reader in another handle
};

// Records of this size, in the batches a node makes, one batch under way at a time: what the log alone does.
Result<Baseline> measure_baseline(const std::string& url, std::uint64_t records, std::size_t record_bytes);

}  // namespace tenure::cli
