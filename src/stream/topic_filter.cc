#include "stream/topic_filter.h"

#include <algorithm>

namespace tenure {
namespace {

// One character of the text against the pattern's next one. Advances `at` behind it.
bool takes_character(char c, BytesView pattern, std::size_t& at) {
  if (at == pattern.size()) return false;
  if (pattern[at] == '?') return ++at, true;
  if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
  return pattern[at++] == c;
}

}  // namespace

// Where the characters behind a star do not match, the star takes one character more.
bool matches_pattern(BytesView text, BytesView pattern) {
  std::size_t at = 0;
  std::size_t in = 0;
  std::size_t star = BytesView::npos;
  std::size_t star_in = 0;
  while (in < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = ++at;
      star_in = in;
    } else if (takes_character(text[in], pattern, at)) {
      ++in;
    } else if (star != BytesView::npos) {
      at = star;
      in = ++star_in;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

bool TopicFilter::takes(BytesView topic) const {
  if (topics_.empty() && pattern_.empty()) return true;
  if (std::find(topics_.begin(), topics_.end(), topic) != topics_.end()) return true;
  return !pattern_.empty() && matches_pattern(topic, pattern_);
}

}  // namespace tenure
