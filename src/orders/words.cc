#include "orders/words.h"

#include <optional>

namespace tenure::orders {
namespace {

Failure bad_line(std::string why) { return fail(Errc::invalid, "read command line", std::move(why)); }

// One line, which is read from its start to its end.
class WordReader {
 public:
  explicit WordReader(BytesView line) : line_(line) {}

  // Nothing at the end.
  Result<std::optional<std::string>> next() {
    while (at_ < line_.size() && is_space(line_[at_])) ++at_;
    if (at_ == line_.size()) return std::optional<std::string>();
    std::string word;
    while (at_ < line_.size() && !is_space(line_[at_])) {
      if (Status taken = take(word); !taken) return Failure(taken.error());
    }
    return std::optional(std::move(word));
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t'; }

  Status take(std::string& word) {
    const char c = line_[at_++];
    if (c == '\'') return take_quoted(word, c);
    if (c == '"') return take_quoted(word, c);
    if (c != '\\') {
      word += c;
      return {};
    }
    if (at_ == line_.size()) return bad_line("it ends in a backslash");
    word += line_[at_++];
    return {};
  }

  Status take_quoted(std::string& word, char quote) {
    while (at_ < line_.size()) {
      const char c = line_[at_++];
      if (c == quote) return {};
      const bool escapes = quote == '"' && c == '\\' && at_ < line_.size() && (line_[at_] == '"' || line_[at_] == '\\');
      word += escapes ? line_[at_++] : c;
    }
    return bad_line(std::string("there is no second ") + quote);
  }

  const BytesView line_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<std::string>> split_words(BytesView line) {
  if (line.find('\n') != BytesView::npos || line.find('\r') != BytesView::npos) {
    return bad_line("it has more than one line; write it as a JSON document");
  }
  if (line.find('\0') != BytesView::npos) return bad_line("it has a zero byte");
  std::vector<std::string> words;
  WordReader reader(line);
  for (;;) {
    auto word = reader.next();
    if (!word) return Failure(word.error());
    if (!*word) return words;
    if (words.size() == kWordsMax) return bad_line("it has more than " + std::to_string(kWordsMax) + " words");
    words.push_back(**std::move(word));
  }
}

}  // namespace tenure::orders
