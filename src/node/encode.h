#pragma once

// From a record to bytes that a batch is put together from, without encoding anything twice.

#include "base/bytes.h"

namespace tenure {

namespace v1 {
class Record;
}  // namespace v1

// Appends the record as an element of Batch.records.
void encode(const v1::Record& record, Bytes& into);

}  // namespace tenure
