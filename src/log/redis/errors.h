#pragma once

// Translates a server's error replies into errors of the log port.

#include <string>
#include <string_view>

#include "base/result.h"

namespace tenure::redis {

struct Verdict {
  Error error;
  // The server is useless for now (a replica, still loading, or it has lost our scripts): the next request needs a new
  // connection.
  bool reconnect = false;
};

// `place` is the URL for messages, without a password. A request with an error reply had no effect.
Verdict judge(std::string_view reply, std::string_view operation, const std::string& place);

}  // namespace tenure::redis
