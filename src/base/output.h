#pragma once

// All text that the program and the library print for people goes through here and is made printable, so that no caller
// can forget it (tests/architecture/text_output.py). Each line is written with one call and without a lock, from any
// thread.

#include <cstddef>
#include <string>

#include "base/bytes.h"

namespace tenure {

// A longer line is cut, with a note. A row with the longest key and names fits.
constexpr std::size_t kLineColumnsMax = 16U << 10;

// The text as one line, without the line end. For logs.
std::string one_line(BytesView text);

// Print a line on standard output, or on standard error.
void print_line(BytesView text);
void warn_line(BytesView text);
// For a process that has to end now: writes only as much as does not block.
void warn_at_once(BytesView text);

// Writes bytes unchanged: data that is already printable, or that must be exact.
void write_exact(int descriptor, BytesView bytes);

}  // namespace tenure
