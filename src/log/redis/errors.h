#pragma once

// What a server's error replies mean to the port.

#include <string>
#include <string_view>

#include "base/result.h"

namespace tenure::redis {

struct Verdict {
  Error error;
  // The connection leads to a server that is of no use now (a replica, one that loads its data, one that forgot our
  // scripts): the next request has to go by a new one.
  bool reconnect = false;
};

// `place` is the URL as it may be shown. What was answered so has had no effect.
Verdict judge(std::string_view reply, std::string_view operation, const std::string& place);

}  // namespace tenure::redis
