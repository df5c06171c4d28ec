#pragma once

// The way out for text. What the program and the library print for people goes through here and is made printable, so
// that no caller can forget to (tests/architecture/text_output.py). A line is written with one call, whichever thread
// it comes from, and takes no lock.

#include <cstddef>
#include <string>

#include "base/bytes.h"

namespace tenure {

// A line is cut after so many columns, and says so: a row of the longest key and names fits.
constexpr std::size_t kLineColumnsMax = 16U << 10;

// The text as one line, without its end: what a log may be given.
std::string one_line(BytesView text);

// A line on standard output, and one on standard error.
void print_line(BytesView text);
void warn_line(BytesView text);
// For a process that has to end now: nothing is written where that could wait for a reader.
void warn_at_once(BytesView text);

// Bytes as they are, for what has been made fit already and for what has to be exact.
void write_exact(int descriptor, BytesView bytes);

}  // namespace tenure
