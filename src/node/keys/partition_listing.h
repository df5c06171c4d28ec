#pragma once

// The listing of a pool's partitions.

#include "machine/machine.h"

namespace tenure {

namespace v1 {
class Told;
}  // namespace v1

// Also the ring, if the pool has one.
void list_partitions(const Machine& machine, v1::Told& told);

}  // namespace tenure
