#include "base/json_text.h"

#include <algorithm>

#include "base/printable.h"
#include "base/utf8.h"

namespace tenure {
namespace {

void escape_unit(unsigned unit, std::string& into) {
  constexpr BytesView kHex = "0123456789abcdef";
  into += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) into += kHex[unit >> shift & 15U];
}

void escape_in_units(char32_t code, std::string& into) {
  if (code < 0x10000) return escape_unit(code, into);
  const char32_t above = code - 0x10000;
  escape_unit(0xD800 + (above >> 10U), into);
  escape_unit(0xDC00 + (above & 0x3FFU), into);
}

bool is_plain(char byte) { return byte >= 0x20 && byte < 0x7F && byte != '\\' && byte != '"'; }

}  // namespace

std::string json_string(BytesView text) {
  std::string out = "\"";
  out.reserve(text.size() + 2);
  for (;;) {
    const auto run = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
    out += text.substr(0, run);
    text.remove_prefix(run);
    if (text.empty()) break;
    const Utf8Character first = first_character(text);
    if (first.bytes == 0) {
      out += "\\" + printable(text.substr(0, 1));
    } else if (first.code == '"' || first.code == '\\') {
      out += '\\';
      out += text[0];
    } else if (first.code == '\n' || first.code == '\r' || first.code == '\t') {
      out += printable(text.substr(0, 1));
    } else if (is_printable(first.code)) {
      out += text.substr(0, first.bytes);
    } else {
      escape_in_units(first.code, out);
    }
    text.remove_prefix(first.bytes == 0 ? 1 : first.bytes);
  }
  return out += '"';
}

}  // namespace tenure
