#pragma once

// How every entry of a pool's log begins, whoever appends it.

#include <cstdint>

#include "machine/decode.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

// A batch without records. The machine takes each (sender, sequence) once: a batch that is sent again keeps its own.
inline v1::Batch empty_batch(std::uint64_t sender, std::uint64_t sequence, std::int64_t wall_ms) {
  v1::Batch batch;
  batch.set_format(kBatchFormat);
  batch.set_sender(sender);
  batch.set_sequence(sequence);
  batch.set_wall_ms(wall_ms);
  return batch;
}

}  // namespace tenure
