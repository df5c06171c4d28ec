#pragma once

// Text as a string of JSON, with its quotes.

#include <string>

#include "base/bytes.h"

namespace tenure {

// Whoever reads it gets the same characters back, and a terminal that it is shown on is safe: what is not printable
// (base/printable.h) is written as \uXXXX. JSON has no bytes that are no characters: they come as the text \xNN.
std::string json_string(BytesView text);

}  // namespace tenure
