#include "base/printable.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace tenure {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Unicode's categories Cc, Cf, Zl and Zp, the characters that are ignored if a font lacks them
// (Default_Ignorable_Code_Point), and noncharacters. Sorted.
constexpr std::array kHidden = {
    Range{0x0000, 0x001F},    // controls
    Range{0x007F, 0x009F},    // delete, and the controls beyond ASCII
    Range{0x00AD, 0x00AD},    // soft hyphen
    Range{0x034F, 0x034F},    // grapheme joiner
    Range{0x0600, 0x0605},    // Arabic number signs
    Range{0x061C, 0x061C},    // Arabic letter mark
    Range{0x06DD, 0x06DD},    // end of ayah
    Range{0x070F, 0x070F},    // Syriac abbreviation mark
    Range{0x0890, 0x0891},    // Arabic currency marks
    Range{0x08E2, 0x08E2},    // disputed end of ayah
    Range{0x115F, 0x1160},    // Hangul fillers
    Range{0x17B4, 0x17B5},    // Khmer inherent vowels
    Range{0x180B, 0x180F},    // Mongolian variation selectors and separator
    Range{0x200B, 0x200F},    // zero width space and joiners, direction marks
    Range{0x2028, 0x202E},    // separators of lines and paragraphs, embeddings and overrides of direction
    Range{0x2060, 0x206F},    // word joiner, isolates of direction, deprecated formats
    Range{0x3164, 0x3164},    // Hangul filler
    Range{0xFDD0, 0xFDEF},    // noncharacters
    Range{0xFE00, 0xFE0F},    // variation selectors
    Range{0xFEFF, 0xFEFF},    // byte order mark
    Range{0xFFA0, 0xFFA0},    // half-width Hangul filler
    Range{0xFFF0, 0xFFFB},    // annotations
    Range{0x110BD, 0x110BD},  // Kaithi number sign
    Range{0x110CD, 0x110CD},  // Kaithi number sign above
    Range{0x13430, 0x1343F},  // Egyptian format controls
    Range{0x1BCA0, 0x1BCA3},  // shorthand format controls
    Range{0x1D173, 0x1D17A},  // musical format controls
    Range{0xE0000, 0xE0FFF},  // tags, more variation selectors
};

constexpr std::string_view kHex = "0123456789abcdef";

enum class Keep : bool { nothing, layout };

bool is_layout(char byte) { return byte == '\n' || byte == '\t' || byte == '\\'; }

void escape_byte(unsigned char byte, std::string& into) {
  into += "\\x";
  into += kHex[byte >> 4U];
  into += kHex[byte & 15U];
}

void escape_code(char32_t code, std::string& into) {
  std::string digits;
  for (; code != 0 || digits.empty(); code >>= 4U) digits.insert(digits.begin(), kHex[code & 15U]);
  into += "\\u{" + digits + "}";
}

void escape_ascii(char byte, std::string& into) {
  switch (byte) {
    case '\\': into += "\\\\"; break;
    case '\n': into += "\\n"; break;
    case '\r': into += "\\r"; break;
    case '\t': into += "\\t"; break;
    default: escape_byte(static_cast<unsigned char>(byte), into);
  }
}

// Appends the first character, and returns how many bytes of the text it was.
std::size_t show_first(BytesView text, Keep keep, std::string& into) {
  const Utf8Character first = first_character(text);
  if (first.bytes == 0) {
    escape_byte(static_cast<unsigned char>(text[0]), into);
    return 1;
  }
  const bool kept = keep == Keep::layout && is_layout(text[0]);
  if (kept || (is_printable(first.code) && text[0] != '\\')) {
    into += text.substr(0, first.bytes);
  } else if (first.bytes == 1) {
    escape_ascii(text[0], into);
  } else {
    escape_code(first.code, into);
  }
  return first.bytes;
}

bool needs_no_look(char byte) { return byte >= 0x20 && byte < 0x7F && byte != '\\'; }

// Most text needs no escaping and is copied in runs.
std::string shown(BytesView text, Keep keep) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto run = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), needs_no_look) - text.begin());
    out += text.substr(0, run);
    text.remove_prefix(run);
    if (!text.empty()) text.remove_prefix(show_first(text, keep, out));
  }
  return out;
}

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

std::size_t characters(BytesView utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), begins_character));
}

}  // namespace

bool is_printable(char32_t code) {
  if ((code & 0xFFFEU) == 0xFFFEU) return false;  // the last two of each plane are noncharacters
  const auto* const found = std::lower_bound(kHidden.begin(), kHidden.end(), code,
                                             [](const Range& range, char32_t c) { return range.last < c; });
  return found == kHidden.end() || code < found->first;
}

std::string printable(BytesView text) { return shown(text, Keep::nothing); }

std::string printable_page(BytesView text) { return shown(text, Keep::layout); }

BytesView printable_prefix(BytesView text, std::size_t columns_max) {
  std::size_t bytes = 0;
  std::size_t columns = 0;
  std::string character;
  while (bytes < text.size()) {
    character.clear();
    const std::size_t taken = show_first(text.substr(bytes), Keep::nothing, character);
    columns += characters(character);
    if (columns > columns_max) break;
    bytes += taken;
  }
  return text.substr(0, bytes);
}

std::size_t columns_of(BytesView text) { return characters(printable(text)); }

}  // namespace tenure
