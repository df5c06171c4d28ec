#pragma once

// Result is public (tenure/result.hpp). This header adds shorthands for failures.

#include <string>
#include <tenure/result.hpp>

namespace tenure {

inline Failure fail(Errc code, std::string operation, std::string context = {}) {
  return Failure(Error{code, std::move(operation), std::move(context)});
}

}  // namespace tenure
