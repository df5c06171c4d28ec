#pragma once

// Names that belong to the library itself, so that its own residents never meet those of users: types that begin with a
// dot, and keys and sources that begin with ".source/". Users cannot dispatch, take or emit them. A worker that takes
// every job of a kind does not take the library's types; it has to name them.

#include "base/bytes.h"

namespace tenure {

constexpr BytesView kOwnKeys = ".source/";

constexpr bool is_own_type(BytesView type) { return type.starts_with('.'); }
constexpr bool is_own_key(BytesView key) { return key.starts_with(kOwnKeys); }

}  // namespace tenure
