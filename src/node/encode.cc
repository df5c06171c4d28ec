#include "node/encode.h"

#include "tenure/v1/record.pb.h"

namespace tenure {

void encode(const v1::Record& record, Bytes& into) {
  constexpr char kTag = (v1::Batch::kRecordsFieldNumber << 3) | 2;
  into.push_back(kTag);
  for (std::size_t size = record.ByteSizeLong();; size >>= 7) {
    if (size < 0x80) {
      into.push_back(static_cast<char>(size));
      break;
    }
    into.push_back(static_cast<char>((size & 0x7F) | 0x80));
  }
  record.AppendToString(&into);
}

}  // namespace tenure
