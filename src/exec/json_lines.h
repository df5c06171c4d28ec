#pragma once

// The lines of the json protocol. The only file that knows the JSON library is json_lines.cc: it is slow to compile.

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace tenure::exec {

// To the program. Each ends with a line end. Bytes that are not UTF-8 come in a field NAME_base64 in place of NAME.
Bytes json_start(BytesView key, std::uint64_t epoch, BytesView payload, const std::optional<Bytes>& checkpoint);
// The same for a program that stays and is given one task after the other.
Bytes json_task(BytesView key, std::uint64_t epoch, std::uint32_t attempt, BytesView payload,
                const std::optional<Bytes>& checkpoint);
Bytes json_notify(BytesView message);
Bytes json_stop(std::int64_t deadline_ms);

// From the program.
struct JsonLine {
  enum class Type : std::uint8_t {
    ready,
    checkpoint,
    result,
    fail,
    other,    // of a type that is not known here: a newer program's, to be ignored
    broken,   // of a type that is known, and not sound; `data` says what is wrong
    nothing,  // no JSON object: somebody's print
  };
  Type type = Type::nothing;
  Bytes data{};  // of checkpoint and result; the error of fail
  bool retry = true;
  std::optional<std::uint64_t> epoch{};  // where the line names one
};
JsonLine read_json_line(BytesView line);

}  // namespace tenure::exec
