#pragma once

// Collects who held a key, from when to when, and why it moved, while the log is read.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "node/node.h"
#include "render/history.h"

namespace tenure::cli {

using render::kept_history;
using render::Tenure;
using render::with_gaps;

// Records the machine's effects on one key. Used on the loop only.
class Historian final : public PoolWatcher {
 public:
  explicit Historian(std::string key) : key_(std::move(key)) {}

  void applied(const Machine& machine) override;
  const std::vector<Tenure>& history() const { return history_; }

 private:
  void granted(const At&, const Grant& grant) override;
  void started(const At&, const TenureRef& ref) override;
  void tenure_failed(const At&, const TenureRef& ref, BytesView error) override;
  void ended(const At&, const TenureRef& ref, TenureEnd why) override;
  void buried(const At&, BytesView key, std::uint64_t dead_id, bool quarantined) override;
  void with(const TenureRef& ref, std::function<void(Tenure&, std::int64_t)> change);

  const std::string key_;
  bool loaded_ = false;
  std::vector<std::function<void(std::int64_t)>> fresh_;
  std::vector<Tenure> history_;
};

}  // namespace tenure::cli
