#pragma once

// Writes text as a JSON string, with quotes.

#include <string>

#include "base/bytes.h"

namespace tenure {

// A JSON reader gets the same characters back, and the string is safe on a terminal: unprintable characters
// (base/printable.h) are written as \uXXXX. JSON cannot hold bytes that are not characters. They are written as the
// text \xNN.
std::string json_string(BytesView text);

}  // namespace tenure
