#pragma once

// Decodes the bytes of a log entry into a batch. Reuses its memory.

#include <memory>

#include "base/bytes.h"

namespace google::protobuf {
class Arena;
}

namespace tenure {

namespace v1 {
class Batch;
}

class Decoder {
 public:
  Decoder();
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Null if every reader must skip the entry: it does not parse, has no sender, or has an unknown format. The batch is
  // valid until the next call.
  const v1::Batch* decode(BytesView data);
  // The same for the next entry of a run. Earlier batches of the run stay valid.
  const v1::Batch* decode_next(BytesView data);

 private:
  std::unique_ptr<char[]> first_block_;
  std::unique_ptr<google::protobuf::Arena> arena_;
};

constexpr std::uint32_t kBatchFormat = 1;

}  // namespace tenure
