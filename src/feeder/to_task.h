#pragma once

// An event of a source as a task of the pool. The same event always gives the same task.

#include <cstddef>
#include <tenure/emit.hpp>

#include "feeder/spec.h"
#include "source/source.h"

namespace tenure::feeder {

// Of an event that is too large for a task, this much is kept in its dead letter.
constexpr std::size_t kLetterBytesMax = 64U << 10;

// `names` and `prefix`: of the keys of events that have none, or none that counts. The source's name of the event
// follows the prefix.
EmitTask to_task(source::Event event, const Spec& spec, const source::Source& names, BytesView prefix);
inline std::size_t bytes_of(const EmitTask& task) { return task.key.size() + task.payload.size() + task.type.size(); }

}  // namespace tenure::feeder
