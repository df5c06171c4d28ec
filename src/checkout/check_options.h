#pragma once

// Refuses invalid options, and names the wrong one.

#include <tenure/checkout_options.hpp>
#include <tenure/result.hpp>

namespace tenure {

Status check_options(const CheckoutOptions& options);

}  // namespace tenure
