// Fuzzes text for a terminal: the output has only printable characters and can be read back, and so have JSON and
// pages.

#include <cstdint>
#include <cstdlib>

#include "base/json_text.h"
#include "base/printable.h"
#include "base/read_printable.h"
#include "base/utf8.h"

namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

bool is_harmless(tenure::BytesView text, bool page) {
  while (!text.empty()) {
    const tenure::Utf8Character first = tenure::first_character(text);
    const bool layout = page && (first.code == U'\n' || first.code == U'\t');
    if (first.bytes == 0 || (!layout && !tenure::is_printable(first.code))) return false;
    text.remove_prefix(first.bytes);
  }
  return true;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tenure::BytesView text(reinterpret_cast<const char*>(data), size);
  const std::string shown = tenure::printable(text);
  expect(is_harmless(shown, false));
  expect(tenure::test::read_printable(shown) == std::string(text));
  expect(is_harmless(tenure::printable_page(text), true));
  expect(is_harmless(tenure::json_string(text), false));
  expect(tenure::columns_of(tenure::printable_prefix(text, 40)) <= 40);
  return 0;
}
