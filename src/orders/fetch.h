#pragma once

// Fetches an order over HTTP, for a process that does nothing else meanwhile and whose parent bounds its time.
//
// Only the hosts of `options.hosts` are asked, also behind redirections, of which there may be a few, and none from
// https to http. The answer has up to `options.order_bytes`. There is no login, no cookie, no compression and no proxy.
// Certificates are verified with the system's authorities, or those of $SSL_CERT_FILE.

#include <string_view>

#include "base/bytes.h"
#include "base/deadline.h"
#include "base/result.h"
#include "orders/run_options.h"

namespace tenure::orders {

// Errc::refused: it is not allowed, and trying again does not help. Others say what went wrong.
Result<Bytes> fetch_order(std::string_view url, const RunOptions& options, Deadline deadline);

}  // namespace tenure::orders
