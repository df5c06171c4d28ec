#pragma once

// The lines of the json protocol. Only json_lines.cc includes the JSON library, because it is slow to compile.

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "node/sources/emission.h"

namespace tenure::exec {

// Lines for the program, with line ends. Bytes that are not UTF-8 are in a field NAME_base64 instead of NAME.
Bytes json_start(BytesView key, std::uint64_t epoch, BytesView payload, const std::optional<Bytes>& checkpoint);
// The same for a warm program, which gets one task after the other.
Bytes json_task(BytesView key, std::uint64_t epoch, BytesView job_type, std::uint32_t attempt, BytesView payload,
                const std::optional<Bytes>& checkpoint);
Bytes json_notify(BytesView message);
Bytes json_stop(std::int64_t deadline_ms);
// The answer to `emit` and `emitted`: how far the source is, or why nothing was taken in. `source` as the program gave
// it.
Bytes json_emitted(BytesView source, const Result<std::uint64_t>& outcome);

// A line from the program.
struct JsonLine {
  enum class Type : std::uint8_t {
    ready,
    checkpoint,
    result,
    fail,
    emit,     // tasks of a source
    emitted,  // asks how far the source is
    other,    // an unknown type, of a newer program; ignored
    broken,   // a known type with a wrong content; `data` explains it
    nothing,  // not a JSON object: ordinary output
  };
  Type type = Type::nothing;
  Bytes data{};  // of checkpoint and result; the error of fail
  bool retry = true;
  Emission emission{};                   // of emit; of emitted, only the source
  std::optional<std::uint64_t> epoch{};  // if the line has one
};
JsonLine read_json_line(BytesView line);

}  // namespace tenure::exec
