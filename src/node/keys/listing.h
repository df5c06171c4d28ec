#pragma once

// Answers listings from a loaded state. The result is the same from a local state, or from a member that was asked
// through the log.

#include "machine/machine.h"
#include "node/observer.h"

namespace tenure {

namespace v1 {
class Ask;
class Told;
}  // namespace v1

// Beyond these limits a page ends, with the place to continue. The node's loop waits while it is built.
constexpr std::size_t kListedMax = 10'000;
constexpr std::size_t kLookedAtMax = 50'000;  // keys, so that a filter with few matches delays nobody
// Pages that go through the log are shorter.
constexpr std::size_t kToldMax = 1'000;
constexpr std::size_t kToldBytesMax = 128U << 10;

v1::Told tell(const Machine& machine, const Observer& observer, const v1::Ask& ask, std::size_t most = kListedMax,
              std::size_t bytes_most = SIZE_MAX);

// The same for a key's tenures only.
v1::Told tell_history(const Machine& machine, BytesView key);

}  // namespace tenure
