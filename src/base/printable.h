#pragma once

// Makes text that came from elsewhere fit for a terminal and for a line of a log: keys, names, errors, what programs
// print. Whoever wrote it could otherwise move the cursor, change colours and titles, forge lines, or hide a part.
//
//   \\              a backslash
//   \n \r \t        line feed, carriage return, tab
//   \xNN            any other control character of ASCII, or a byte that is no part of a character in UTF-8
//   \u{N…}          a character beyond ASCII that controls, reorders or hides: the controls U+0080–U+009F, those that
//                   turn the direction of text, separators of lines, and all that take no room
//
// So the text can be read back: two different texts never look the same.

#include <cstddef>
#include <string>

#include "base/bytes.h"

namespace tenure {

std::string printable(BytesView text);

// For pages of our own and for data that a user has asked to see: line feeds, tabs and backslashes stay as they are. It
// is as safe, but cannot be read back.
std::string printable_page(BytesView text);

// The longest beginning of the text whose printable form has at most `columns_max` columns.
BytesView printable_prefix(BytesView text, std::size_t columns_max);

// How many columns of a terminal its printable form takes: one for each character.
std::size_t columns_of(BytesView text);

// Whether a character can be shown as it is.
bool is_printable(char32_t code);

}  // namespace tenure
