#include "base/mask_login.h"

#include <algorithm>
#include <cstring>

namespace tenure {
namespace {

constexpr BytesView kSlashes = "://";

// The bytes of a word's login; empty if begin and end are equal. A password may contain an unescaped @ or slash, so the
// last @ counts.
struct LoginPlace {
  std::size_t begin = 0;
  std::size_t end = 0;
};

LoginPlace login_of(BytesView word) {
  const std::size_t at = word.rfind('@');
  if (at == BytesView::npos) return {};
  const std::size_t slashes = word.find(kSlashes);
  if (slashes < at) return {slashes + kSlashes.size(), at};
  return word.find(':') < at ? LoginPlace{0, at} : LoginPlace{};
}

}  // namespace

std::string mask_logins(BytesView text) {
  std::string masked;
  while (!text.empty()) {
    const BytesView word = text.substr(0, text.find_first_of(" \t\r\n"));
    const LoginPlace login = login_of(word);
    masked += word.substr(0, login.begin);
    if (login.begin != login.end) masked += "***";
    masked += word.substr(login.end);
    text.remove_prefix(word.size());
    const std::size_t blanks = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    masked += text.substr(0, blanks);
    text.remove_prefix(blanks);
  }
  return masked;
}

void mask_login_in_place(char* argument) {
  const BytesView whole(argument);
  if (whole.find(kSlashes) == BytesView::npos) return;
  const LoginPlace login = login_of(whole);
  std::fill(argument + login.begin, argument + login.end, '*');
}

}  // namespace tenure
