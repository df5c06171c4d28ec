#include "remote/words.h"

#include <tenure/checkout_remote.hpp>

#include "base/json_text.h"
#include "remote/session.h"

namespace tenure::remote {
namespace {

// The codes are dense up to the last one.
constexpr int kCodes = static_cast<int>(Errc::worker_died);

}  // namespace

Bytes encode_refusal(const Error& error) { return Bytes(to_string(error.code)) + "\n" + error.context; }

Error decode_refusal(BytesView bytes) {
  const std::size_t end = bytes.find('\n');
  const BytesView name = bytes.substr(0, end);
  const Bytes context(end == BytesView::npos ? BytesView() : bytes.substr(end + 1));
  for (int code = 1; code <= kCodes; ++code) {
    if (to_string(static_cast<Errc>(code)) == name) return {static_cast<Errc>(code), "checkout", context};
  }
  return {Errc::refused, "checkout", Bytes(bytes)};
}

std::string stats_of(const CheckoutRef<ProcessWorker>& pool) {
  const CheckoutState state = pool.state();
  const CheckoutMetrics counts = pool.metrics();
  std::string out = "{\"health\":" + json_string(to_string(state.health)) + ",\"reason\":" + json_string(state.reason);
  const auto put = [&](const char* name, std::uint64_t value) {
    out += ",\"" + std::string(name) + "\":" + std::to_string(value);
  };
  put("free", state.free);
  put("held", state.held);
  put("in_transit", state.in_transit);
  put("starting", state.starting);
  put("stopping", state.stopping);
  put("waiting", state.waiting);
  out += std::string(",\"overloaded_now\":") + (state.overloaded ? "true" : "false");
  put("default_workers", state.default_workers);
  put("max_workers", state.max_workers);
  out += ",\"max_queue\":" + std::to_string(state.max_queue);
  put("checkouts", counts.checkouts);
  put("overloaded", counts.overloaded);
  put("waited", counts.waited);
  put("timed_out", counts.timed_out);
  put("cancelled", counts.cancelled);
  put("starts", counts.starts);
  put("start_failures", counts.start_failures);
  put("deaths", counts.deaths);
  put("discarded", counts.discarded);
  put("invalid", counts.invalid);
  put("expired", counts.expired);
  put("idled_out", counts.idled_out);
  put("shrunk", counts.shrunk);
  put("leaks", counts.leaks);
  put("wait_total_ms", static_cast<std::uint64_t>(counts.wait_total.count() / 1'000'000));
  put("wait_max_ms", static_cast<std::uint64_t>(counts.wait_max.count() / 1'000'000));
  return out + "}";
}

}  // namespace tenure::remote
