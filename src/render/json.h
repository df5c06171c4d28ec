#pragma once

// Writes JSON one value after the other. Adds the commas; the caller closes what it opens.
//
//     Json json;
//     json.object().field("key", key).field("epoch", 7).end();

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::render {

class Json {
 public:
  Json& object() { return open('{', '}'); }
  Json& array() { return open('[', ']'); }
  Json& object(std::string_view name) { return this->name(name).open('{', '}'); }
  Json& array(std::string_view name) { return this->name(name).open('[', ']'); }
  Json& end();

  // Bytes that are not UTF-8 come as NAME_base64.
  Json& field(std::string_view name, std::string_view bytes);
  Json& field(std::string_view name, const char* text) { return field(name, std::string_view(text)); }
  Json& field(std::string_view name, bool value);
  Json& field(std::string_view name, double value);
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  Json& field(std::string_view name, Number value) {
    return this->name(name).raw(std::to_string(value));
  }
  Json& null(std::string_view name) { return this->name(name).raw("null"); }

  const std::string& text() const { return text_; }

 private:
  Json& open(char begin, char end);
  Json& name(std::string_view name);
  Json& raw(std::string_view text);
  void comma();

  std::string text_;
  std::string closing_;
  bool first_ = true;
};

}  // namespace tenure::render
