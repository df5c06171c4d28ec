#include "render/json.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/base64.h"
#include "base/json_text.h"
#include "base/utf8.h"

namespace tenure::render {
Json& Json::end() {
  text_ += closing_.back();
  closing_.pop_back();
  first_ = false;
  return *this;
}

Json& Json::field(std::string_view name, std::string_view bytes) {
  if (is_utf8(bytes)) return this->name(name).raw(json_string(bytes));
  return this->name(std::string(name) + "_base64").raw(json_string(to_base64(bytes)));
}

Json& Json::field(std::string_view name, bool value) { return this->name(name).raw(value ? "true" : "false"); }

Json& Json::field(std::string_view name, double value) {
  if (!std::isfinite(value)) return null(name);
  std::array<char, 32> digits{};
  // Three decimals of a millisecond are microseconds. More digits would be noise.
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed, 3);
  return this->name(name).raw({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

Json& Json::open(char begin, char end) {
  comma();
  text_ += begin;
  closing_ += end;
  first_ = true;
  return *this;
}

Json& Json::name(std::string_view name) {
  comma();
  text_ += json_string(name);
  text_ += ':';
  first_ = true;
  return *this;
}

Json& Json::raw(std::string_view text) {
  comma();
  text_ += text;
  return *this;
}

void Json::comma() {
  if (!first_) text_ += ',';
  first_ = false;
}

}  // namespace tenure::render
