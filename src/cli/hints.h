#pragma once

// What a person can do about an error. One table holds the hints of all commands, so that they can be read together.

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tenure::cli {

struct Advice {
  Errc code;
  std::string_view operation;  // the operation that failed; empty: any other
  std::string_view hint;
};

// In each table the advice for an operation comes before the one for any other.
std::span<const Advice> pool_advice();
// The commands about checkout pools have no engine, jobs or keys.
std::span<const Advice> checkout_advice();
// The commands about streams. Errors that are not in this table come from a pool ('stream trim --taken').
std::span<const Advice> stream_advice();

// A sentence. Empty if the error says it all.
std::string hint(const Error& error);
std::string checkout_hint(const Error& error);
std::string stream_hint(const Error& error);

}  // namespace tenure::cli
