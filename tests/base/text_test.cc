// Whether bytes are text, and how bytes that are not travel as text.

#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/utf8.h"

namespace tenure {
namespace {

TEST(Utf8, OnlySoundCharactersAreText) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("ä€😀"));
  for (const BytesView bad :
       {"\xff", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80"}) {
    EXPECT_FALSE(is_utf8(bad)) << to_base64(bad);
  }
}

TEST(Base64, ThereAndBack) {
  Bytes all;
  for (int size = 0; size < 300; ++size) {
    EXPECT_EQ(from_base64(to_base64(all)), all);
    all += static_cast<char>(size * 7);
  }
  EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
  EXPECT_EQ(from_base64("Zm9vYg"), "foob");
  EXPECT_FALSE(from_base64("Zm9v!"));
  EXPECT_FALSE(from_base64("Zm9vY"));
}

}  // namespace
}  // namespace tenure
