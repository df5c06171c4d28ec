#pragma once

// Builds messages from elements that are already encoded, so that nothing is encoded twice.

#include "base/bytes.h"

namespace tenure {

namespace v1 {
class Record;
}  // namespace v1

// Appends `element` to an encoded message, as an element of its repeated (or singular) field of messages or bytes.
void append_element(int field, BytesView element, Bytes& into);

// Appends the record as an element of Batch.records.
void append_record(const v1::Record& record, Bytes& into);

}  // namespace tenure
