#pragma once

// What the log says of orders: who claimed them, and what became of it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node/node_events.h"
#include "orders/run_result.h"

namespace tenure::cli {

struct OrderStep {
  std::string_view event{};  // claimed, committed, yielded, completed, failed, dead
  Bytes instance{};          // the worker's id; without "instance-", if it has that
  std::uint64_t epoch = 0;
  std::int64_t at_ms = 0;
  Bytes reason{};  // why it was yielded, or the error
  std::optional<orders::RunResult> result{};
};

struct OrderCourse {
  std::vector<OrderStep> steps{};
  std::uint32_t attempt = 0;
};

Bytes instance_of(BytesView worker);

// Follows a log, from its newest snapshot on, and keeps the orders that it names: those that are over up to a limit.
// Used on the loop only.
class OrderBook final : public PoolWatcher {
 public:
  // `order`: only this one; empty: all.
  explicit OrderBook(Bytes order = {}) : only_(std::move(order)) {}

  const std::map<Bytes, OrderCourse>& orders() const { return orders_; }

 private:
  static constexpr std::size_t kOrdersMax = 20'000;

  void granted(const At& at, const Grant& grant) override;
  void started(const At& at, const TenureRef& ref) override;
  void tenure_failed(const At& at, const TenureRef& ref, BytesView error) override;
  void ended(const At& at, const TenureRef& ref, TenureEnd why) override;
  void settled(const At& at, const Settlement& settlement) override;
  void buried(const At& at, BytesView key, std::uint64_t dead_id, bool quarantined) override;

  void step(const At& at, const TenureRef& ref, std::string_view event, Bytes reason = {});
  void drop_old();

  const Bytes only_;
  std::map<Bytes, OrderCourse> orders_;
  std::map<std::uint64_t, Bytes> held_;              // by epoch
  std::map<std::uint64_t, orders::RunResult> done_;  // the same, between the result and the end
  std::map<std::uint64_t, Bytes> errors_;            // the same
};

}  // namespace tenure::cli
