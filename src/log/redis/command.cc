#include "log/redis/command.h"

#include <array>
#include <charconv>

namespace tenure::redis {
namespace {

// hiredis has a formatter, too, but it uses printf, which takes longer than everything else in sending a job.
void add_count(char kind, std::size_t count, Bytes& into) {
  std::array<char, 24> text;
  text[0] = kind;
  char* end = std::to_chars(text.data() + 1, text.data() + text.size() - 2, count).ptr;
  *end++ = '\r';
  *end++ = '\n';
  into.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

void add_word(BytesView front, BytesView back, Bytes& into) {
  add_count('$', front.size() + back.size(), into);
  into.append(front);
  into.append(back);
  into.append("\r\n");
}

std::size_t room_for(std::span<const std::string_view> words) {
  std::size_t bytes = 16;
  for (const std::string_view word : words) bytes += word.size() + 16;
  return bytes;
}

}  // namespace

Bytes command(std::span<const std::string_view> words) {
  Bytes bytes;
  bytes.reserve(room_for(words));
  add_count('*', words.size(), bytes);
  for (const std::string_view word : words) add_word(word, {}, bytes);
  return bytes;
}

Bytes command(std::initializer_list<std::string_view> words, BytesView front, BytesView back) {
  const std::span<const std::string_view> list(words.begin(), words.size());
  Bytes bytes;
  bytes.reserve(room_for(list) + front.size() + back.size() + 16);
  add_count('*', list.size() + 1, bytes);
  for (const std::string_view word : list) add_word(word, {}, bytes);
  add_word(front, back, bytes);
  return bytes;
}

}  // namespace tenure::redis
