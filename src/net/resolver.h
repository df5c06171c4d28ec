#pragma once

// Addresses of a host name. getaddrinfo() blocks for as long as it likes and cannot be interrupted, so it runs in a
// thread that nobody waits for: a close() must not wait out a name server that is silent.

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tenure::net {

// `done` runs on some thread, perhaps long after anybody wants to know. With more than kLookupsMax under way in this
// process the answer is Errc::unavailable at once.
constexpr int kLookupsMax = 16;

// Numeric addresses, in the order in which they should be tried.
using LookedUp = std::function<void(Result<std::vector<std::string>>)>;
void look_up(const std::string& host, const LookedUp& done);

}  // namespace tenure::net
