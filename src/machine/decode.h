#pragma once

// From the bytes of a log entry to a batch. The memory is used again.

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

  // Null if every reader must skip the entry: it does not parse, names no sender, or has a format that is not
  // known. The batch lives until the next call.
  const v1::Batch* decode(BytesView data);
  // The same, of one more entry of a run: those that were decoded before live on.
  const v1::Batch* decode_next(BytesView data);

 private:
  std::unique_ptr<char[]> first_block_;
  std::unique_ptr<google::protobuf::Arena> arena_;
};

constexpr std::uint32_t kBatchFormat = 1;

}  // namespace tenure
