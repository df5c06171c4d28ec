#include "checkout/check_options.h"

#include "base/result.h"

namespace tenure {
namespace {

constexpr std::size_t kNameMax = 255;

const char* complaint(const CheckoutOptions& options) {
  const CheckoutOptions::Millis none{0};
  if (options.max_workers < 1) return "max_workers is zero";
  if (options.max_workers > CheckoutOptions::kMaxWorkers) return "max_workers is above kMaxWorkers";
  if (options.default_workers > options.max_workers) return "default_workers is above max_workers";
  if (options.max_queue < -1 || options.max_queue > CheckoutOptions::kMaxWaiters) return "max_queue is out of range";
  if (options.name.size() > kNameMax) return "the name is too long";
  if (options.parallel_starts < 1) return "parallel_starts is zero";
  if (options.shrink_timeout.first <= none || options.shrink_timeout.later <= none) return "shrink_timeout is zero";
  if (options.start_backoff <= none || options.start_backoff_max < options.start_backoff) {
    return "start_backoff is zero, or above start_backoff_max";
  }
  if (options.start_failures_max > 0 && options.start_failures_within <= none) return "start_failures_within is zero";
  if (!(options.lifetime_jitter >= 0.0 && options.lifetime_jitter < 1.0)) return "lifetime_jitter is not in [0, 1)";
  for (const auto span :
       {options.max_lifetime, options.idle_timeout, options.leak_after, options.shed_target, options.shed_interval}) {
    if (span < none) return "a span of time is negative";
  }
  return nullptr;
}

}  // namespace

Status check_options(const CheckoutOptions& options) {
  if (const char* wrong = complaint(options)) return fail(Errc::invalid, "checkout options", wrong);
  return {};
}

}  // namespace tenure
