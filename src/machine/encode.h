#pragma once

// Messages that are put together from elements which were encoded before, so that nothing is encoded twice.

#include "base/bytes.h"

namespace tenure {

namespace v1 {
class Record;
}  // namespace v1

// Appends `element` to an encoded message, as one more of its repeated (or single) field of messages or bytes.
void append_element(int field, BytesView element, Bytes& into);

// Appends the record as an element of Batch.records.
void append_record(const v1::Record& record, Bytes& into);

}  // namespace tenure
