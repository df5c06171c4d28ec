#pragma once

// The settings of workers for orders. `tenure orders` has flags for them, and takes the variables of the environment
// where a flag is missing. `pool_worker` has the variables only.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/call.h"
#include "orders/run_options.h"

namespace tenure::cli {

struct OrderSetting {
  std::string_view flag;
  std::string_view variable;
  std::string_view value;  // its name in texts; empty for a switch
  std::string_view help;
};
// In the order of the help.
std::span<const OrderSetting> order_settings();

inline constexpr const char* kOrdersDefault = "work_orders";
inline constexpr const char* kCoordinationDefault = "work_claims";
// The type of the tasks that are orders.
inline constexpr const char* kOrderType = "order";

// Reads settings. Errors name the flag or the variable that a user would change.
class OrderSettings {
 public:
  // `variables_only`: for pool_worker, whose users know no flags.
  OrderSettings(const Call& call, bool variables_only) : call_(call), variables_only_(variables_only) {}

  // The flag, or the variable if it is set and not empty.
  std::optional<std::string> text(std::string_view flag) const;
  // Errc::invalid if it is missing.
  Result<std::string> needed(std::string_view flag) const;
  Result<std::uint64_t> number(std::string_view flag, std::uint64_t otherwise, std::uint64_t min,
                               std::uint64_t max) const;
  Result<std::chrono::milliseconds> duration(std::string_view flag, std::chrono::milliseconds otherwise) const;
  // 1, true, yes; 0, false, no, or nothing.
  Result<bool> on(std::string_view flag) const;
  // "CONCURRENCY", or "--concurrency".
  std::string name(std::string_view flag) const;
  Failure bad(std::string_view flag, const std::string& why) const;

 private:
  const Call& call_;
  const bool variables_only_;
};

// The engine's URL, as orders and dead letters are reached. For the pool add own_name_url().
Result<std::string> orders_engine(const Call& call, const OrderSettings& settings);
// The topic with the orders, which is also the name of the source.
Result<std::string> orders_topic(const OrderSettings& settings);
// The coordination topic: the pool's name.
Result<std::string> coordination_topic(const Call& call, const OrderSettings& settings);
// What orders may do.
Result<orders::RunOptions> run_options(const Call& call, const OrderSettings& settings);

}  // namespace tenure::cli
