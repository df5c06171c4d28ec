#pragma once

// Splits a command line into words. No shell is involved, and nothing is expanded: no variables, patterns, pipes,
// redirections or substitutions. These are the rules:
//
//   Spaces and tabs separate words.
//   '…'   everything up to the next ' is meant as it is
//   "…"   the same up to the next ", but \" is a quote and \\ a backslash
//   \c    outside of quotes: the character c
//
// A quoted part continues the word that it stands in: a'b c'd is one word. '' is an empty word.

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tenure::orders {

constexpr std::size_t kWordsMax = 1024;

// Errc::invalid: a quote or a backslash without an end, a line end or a zero byte, or too many words.
Result<std::vector<std::string>> split_words(BytesView line);

}  // namespace tenure::orders
