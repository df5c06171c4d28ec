#pragma once

// An event of a source as a task of the pool. The same event always gives the same task.

#include <cstddef>
#include <tenure/emit.hpp>

#include "feeder/spec.h"
#include "source/source.h"

namespace tenure::feeder {

// An event that is too large for a task becomes a dead letter with this much of its payload.
constexpr std::size_t kLetterBytesMax = 64U << 10;

// `names` and `prefix`: events without a key get this prefix and the source's name of the event as the key, with
// order=none all events.
EmitTask to_task(source::Event event, const Spec& spec, const source::Source& names, BytesView prefix);
inline std::size_t bytes_of(const EmitTask& task) { return task.key.size() + task.payload.size() + task.type.size(); }

}  // namespace tenure::feeder
