#pragma once

// Refuses options that make no sense, and says which.

#include <tenure/checkout_options.hpp>
#include <tenure/result.hpp>

namespace tenure {

Status check_options(const CheckoutOptions& options);

}  // namespace tenure
