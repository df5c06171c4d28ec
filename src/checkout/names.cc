#include <tenure/checkout_state.hpp>

namespace tenure {

std::string_view to_string(CheckoutHealth health) {
  switch (health) {
    case CheckoutHealth::starting: return "starting";
    case CheckoutHealth::ready: return "ready";
    case CheckoutHealth::degraded: return "degraded";
    case CheckoutHealth::failing: return "failing";
    case CheckoutHealth::suspended: return "suspended";
    case CheckoutHealth::draining: return "draining";
    case CheckoutHealth::down: return "down";
  }
  return "unnamed";
}

std::string_view to_string(CheckoutEvent::Kind kind) {
  switch (kind) {
    case CheckoutEvent::Kind::started: return "started";
    case CheckoutEvent::Kind::start_failed: return "start_failed";
    case CheckoutEvent::Kind::died: return "died";
    case CheckoutEvent::Kind::discarded: return "discarded";
    case CheckoutEvent::Kind::invalid: return "invalid";
    case CheckoutEvent::Kind::expired: return "expired";
    case CheckoutEvent::Kind::idled_out: return "idled_out";
    case CheckoutEvent::Kind::shrunk: return "shrunk";
    case CheckoutEvent::Kind::leaked: return "leaked";
    case CheckoutEvent::Kind::health: return "health";
  }
  return "unnamed";
}

}  // namespace tenure
