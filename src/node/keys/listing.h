#pragma once

// What listings say of a pool, from the state that is loaded somewhere. It is the same whoever tells it: one that has
// the state itself, or a member that was asked for it through the log.

#include "machine/machine.h"
#include "node/observer.h"

namespace tenure {

namespace v1 {
class Ask;
class Told;
}  // namespace v1

// Beyond these a page ends, and says where to go on: it is read while the node's loop waits.
constexpr std::size_t kListedMax = 10'000;
constexpr std::size_t kLookedAtMax = 50'000;  // keys, so that a filter that few pass holds up nobody
// What is told through the log ends sooner.
constexpr std::size_t kToldMax = 1'000;
constexpr std::size_t kToldBytesMax = 128U << 10;

v1::Told tell(const Machine& machine, const Observer& observer, const v1::Ask& ask, std::size_t most = kListedMax,
              std::size_t bytes_most = SIZE_MAX);

// The same of a key's tenures alone.
v1::Told tell_history(const Machine& machine, BytesView key);

}  // namespace tenure
