#pragma once

// Looks up the addresses of a host name. getaddrinfo() may block for long and cannot be interrupted. So it runs in a
// thread of its own that is never joined: closing a client must not wait for a silent name server.

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tenure::net {

// `done` runs on some thread, perhaps long after the client was closed. If kLookupsMax lookups are running in this
// process, the answer is Errc::unavailable at once.
constexpr int kLookupsMax = 16;

// Numeric addresses, in the order in which they should be tried.
using LookedUp = std::function<void(Result<std::vector<std::string>>)>;
void look_up(const std::string& host, const LookedUp& done);

}  // namespace tenure::net
