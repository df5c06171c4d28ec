#pragma once

// Makes foreign text safe for a terminal and for one line of a log: keys, names, errors, output of programs. Otherwise
// its author could move the cursor, change colours and titles, forge lines, or hide text.
//
//   \\              a backslash
//   \n \r \t        line feed, carriage return, tab
//   \xNN            any other control character of ASCII, or a byte that is no part of a character in UTF-8
//   \u{N…}          a character beyond ASCII that controls, reorders or hides: the controls U+0080–U+009F, those that
//                   turn the direction of text, separators of lines, and all that take no room
//
// The escapes can be read back: two different texts never look the same.

#include <cstddef>
#include <string>

#include "base/bytes.h"

namespace tenure {

std::string printable(BytesView text);

// For our own pages and for data that a user asked to see: line feeds, tabs and backslashes stay. It is just as safe,
// but cannot be read back.
std::string printable_page(BytesView text);

// The longest prefix of the text whose printable form has at most `columns_max` columns.
BytesView printable_prefix(BytesView text, std::size_t columns_max);

// The number of terminal columns of its printable form: one for each character.
std::size_t columns_of(BytesView text);

// True if a character can be shown unescaped.
bool is_printable(char32_t code);

}  // namespace tenure
