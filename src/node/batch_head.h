#pragma once

// The start of every entry of a pool's log.

#include <cstdint>

#include "machine/decode.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

// A batch without records. The machine accepts each (sender, sequence) once. A batch that is sent again keeps its own.
inline v1::Batch empty_batch(std::uint64_t sender, std::uint64_t sequence, std::int64_t wall_ms) {
  v1::Batch batch;
  batch.set_format(kBatchFormat);
  batch.set_sender(sender);
  batch.set_sequence(sequence);
  batch.set_wall_ms(wall_ms);
  return batch;
}

}  // namespace tenure
