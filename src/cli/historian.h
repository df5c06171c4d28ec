#pragma once

// Who held a key, from when to when, and why it moved.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/node.h"

namespace tenure::v1 {
class Told;
}  // namespace tenure::v1

namespace tenure::cli {

struct Tenure {
  std::uint64_t epoch = 0;
  Bytes worker;
  std::int64_t granted_ms = 0;
  std::optional<std::int64_t> started_ms;
  std::optional<std::int64_t> ended_ms;
  std::string_view reason;
  std::optional<std::int64_t> gap_ms;  // without a running holder before it
};

// What a state keeps of a key's tenures, from its own or another's (v1::Ask::history), oldest first.
std::vector<Tenure> kept_history(const v1::Told& told);
// Fills in the gaps, once the rest is known.
std::vector<Tenure> with_gaps(std::vector<Tenure> history);

// Writes down what the machine says of one key while it applies the log. Belongs to the loop.
class Historian final : public PoolWatcher {
 public:
  explicit Historian(std::string key) : key_(std::move(key)) {}

  void applied(const Machine& machine) override;
  const std::vector<Tenure>& history() const { return history_; }

 private:
  void granted(const At&, const Grant& grant) override;
  void started(const At&, const TenureRef& ref) override;
  void ended(const At&, const TenureRef& ref, TenureEnd why) override;
  void buried(const At&, BytesView key, std::uint64_t dead_id, bool quarantined) override;
  void with(const TenureRef& ref, std::function<void(Tenure&, std::int64_t)> change);

  const std::string key_;
  bool loaded_ = false;
  std::vector<std::function<void(std::int64_t)>> fresh_;
  std::vector<Tenure> history_;
};

}  // namespace tenure::cli
