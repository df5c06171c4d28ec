#pragma once

// The listing of a pool's partitions.

#include <optional>

#include "machine/machine.h"

namespace tenure {

namespace v1 {
class Told;
}  // namespace v1

// Also the ring, if the pool has one.
void list_partitions(const Machine& machine, v1::Told& told);

// The backlog that a holder leaves in the checkpoint of its partition: a number, in text, so that any program can write
// it. Nothing if it is something else.
std::optional<std::uint64_t> read_backlog(BytesView checkpoint);

}  // namespace tenure
