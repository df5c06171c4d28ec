// Makes foreign text printable: whatever the bytes are, nothing that steers a terminal, reorders or hides text gets
// through, and the original can be read back.

#include "base/printable.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/json_text.h"
#include "base/output.h"
#include "base/read_printable.h"
#include "base/utf8.h"

namespace tenure {
namespace {

using test::read_printable;
using test::utf8_of;

// Whether a terminal shows it in one line as it is.
bool is_harmless(BytesView text) {
  while (!text.empty()) {
    const Utf8Character first = first_character(text);
    if (first.bytes == 0 || !is_printable(first.code)) return false;
    text.remove_prefix(first.bytes);
  }
  return true;
}

// Bytes of every kind, with what is likely to be got wrong.
rc::Gen<std::string> nasty_text() {
  const auto code = rc::gen::map(rc::gen::inRange<std::uint32_t>(0, 0x110000), [](std::uint32_t value) {
    return utf8_of(value >= 0xD800 && value < 0xE000 ? U'\\' : static_cast<char32_t>(value));
  });
  const auto piece = rc::gen::oneOf(rc::gen::arbitrary<std::string>(), code,
                                    rc::gen::elementOf(std::vector<std::string>{"\\",
                                                                                "\\n",
                                                                                "\\x1b",
                                                                                "\\u{202e}",
                                                                                "\x1b[2J",
                                                                                "\x1b]0;title\x07",
                                                                                "\r",
                                                                                "\n",
                                                                                "\t",
                                                                                "\x7f",
                                                                                "\xc2\x9b",
                                                                                "\x9b",
                                                                                "\xe2\x80\xae",
                                                                                "\xe2\x80",
                                                                                "\xf0\x9f\x98\x80",
                                                                                "\xc0\x80",
                                                                                "\xed\xa0\x80",
                                                                                "\xf4\x90\x80\x80",
                                                                                "\xef\xbb\xbf",
                                                                                std::string(1, '\0')}));
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece), [](const std::vector<std::string>& pieces) {
    std::string text;
    for (const std::string& each : pieces) text += each;
    return text;
  });
}

TEST(Printable, LeavesOrdinaryTextAlone) {
  for (const char* text : {"", "tenant-1", "a b", "größe", "日本語", "😀", "→ …", "~!@#$%^&*()\"'`"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_page(text), text);
  }
}

TEST(Printable, EscapesWhatSteersATerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(printable("a\r\nb\tc"), "a\\r\\nb\\tc");
  EXPECT_EQ(printable(BytesView("\0\x07\x7f", 3)), "\\x00\\x07\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\u{9b}");  // a control beyond ASCII, and the byte of that number
  EXPECT_EQ(printable("\x9b"), "\\x9b");
}

TEST(Printable, EscapesWhatReordersOrHides) {
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "cod.exe"),
            "\\u{202e}cod.exe");
  for (const char32_t code : {0x61CU, 0x200BU, 0x200EU, 0x200FU, 0x2028U, 0x2029U, 0x202AU, 0x2060U, 0x2066U, 0x2069U,
                              0xADU, 0x3164U, 0xFE0FU, 0xFEFFU, 0xFFFEU, 0xE0041U, 0x10FFFFU}) {
    EXPECT_FALSE(is_printable(code)) << std::hex << static_cast<std::uint32_t>(code);
    EXPECT_TRUE(printable(utf8_of(code)).starts_with("\\u{"));
  }
}

TEST(Printable, EscapesBytesThatAreNoCharacters) {
  EXPECT_EQ(printable("\xc0\x80"), "\\xc0\\x80");           // not the shortest form
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("a\xe2\x80"), "a\\xe2\\x80");  // cut
}

TEST(Printable, IsToldFromLiteralBackslashes) {
  EXPECT_EQ(printable("\\n"), "\\\\n");
  EXPECT_EQ(printable("\n"), "\\n");
  EXPECT_EQ(printable("\\\x1b"), "\\\\\\x1b");
}

RC_GTEST_PROP(PrintableProperty, IsHarmlessAndCanBeReadBack, ()) {
  const std::string text = *nasty_text();
  const std::string shown = printable(text);
  RC_ASSERT(is_harmless(shown));
  RC_ASSERT(read_printable(shown) == std::optional(text));
}

RC_GTEST_PROP(PrintableProperty, PagesKeepTheirLinesAndNothingElse, ()) {
  std::string page = printable_page(*nasty_text());
  std::erase_if(page, [](char byte) { return byte == '\n' || byte == '\t'; });
  RC_ASSERT(is_harmless(page));
}

RC_GTEST_PROP(PrintableProperty, APrefixFitsAndIsTheLongestThatDoes, ()) {
  const std::string text = *nasty_text();
  const auto max = *rc::gen::inRange<std::size_t>(0, 40);
  const BytesView prefix = printable_prefix(text, max);
  RC_ASSERT(BytesView(text).starts_with(prefix));
  RC_ASSERT(columns_of(prefix) <= max);
  if (prefix.size() == text.size()) return;
  const std::size_t next = std::max<std::size_t>(first_character(BytesView(text).substr(prefix.size())).bytes, 1);
  RC_ASSERT(columns_of(text.substr(0, prefix.size() + next)) > max);
}

RC_GTEST_PROP(PrintableProperty, JsonIsHarmlessToo, ()) { RC_ASSERT(is_harmless(json_string(*nasty_text()))); }

TEST(JsonText, KeepsEveryCharacter) {
  EXPECT_EQ(json_string("a\"\\\n\t\x01\x7f"), R"("a\"\\\n\t\u0001\u007f")");
  EXPECT_EQ(json_string("\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81"), R"("\u009b\u202e\udb40\udc41")");
  EXPECT_EQ(json_string("gr\xc3\xb6\xc3\x9f"
                        "e 😀"),
            "\"größe 😀\"");
  EXPECT_EQ(json_string("a\x9b"), R"("a\\x9b")");
}

TEST(OneLine, IsBounded) {
  EXPECT_EQ(one_line("a\nb"), "a\\nb");
  const std::string whole(kLineColumnsMax, 'x');
  EXPECT_EQ(one_line(whole), whole);
  const std::string cut = one_line(std::string(1'000'000, 'x'));
  EXPECT_EQ(cut, whole + "… (983616 bytes more)");
  EXPECT_LT(one_line(std::string(1'000'000, '\x1b')).size(), kLineColumnsMax + 40);
}

TEST(Utf8, IsCutBetweenCharacters) {
  EXPECT_EQ(cut_at_character("größe", 2), "gr");
  EXPECT_EQ(cut_at_character("größe", 3), "gr");
  EXPECT_EQ(cut_at_character("größe", 4), "grö");
  EXPECT_EQ(cut_at_character("größe", 99), "größe");
  EXPECT_EQ(cut_at_character("😀", 3), "");
  EXPECT_EQ(cut_at_character("\x80\x80\x80\x80\x80\x80", 5), "\x80\x80\x80\x80\x80");  // no text, and still cut
}

}  // namespace
}  // namespace tenure
