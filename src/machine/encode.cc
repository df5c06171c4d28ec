#include "machine/encode.h"

#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

// The length-delimited wire format: a tag (all fields here are below 16), a varint, and the bytes.
void append_head(int field, std::size_t size, Bytes& into) {
  constexpr int kLengthDelimited = 2;
  into.push_back(static_cast<char>((field << 3) | kLengthDelimited));
  for (; size >= 0x80; size >>= 7) into.push_back(static_cast<char>((size & 0x7F) | 0x80));
  into.push_back(static_cast<char>(size));
}

}  // namespace

void append_element(int field, BytesView element, Bytes& into) {
  append_head(field, element.size(), into);
  into.append(element);
}

void append_record(const v1::Record& record, Bytes& into) {
  append_head(v1::Batch::kRecordsFieldNumber, record.ByteSizeLong(), into);
  record.AppendToString(&into);
}

}  // namespace tenure
