#pragma once

// The library's own way to fail is the public one; this adds the shorthand for it.

#include <string>
#include <tenure/result.hpp>

namespace tenure {

inline Failure fail(Errc code, std::string operation, std::string context = {}) {
  return Failure(Error{code, std::move(operation), std::move(context)});
}

}  // namespace tenure
