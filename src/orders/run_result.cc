#include "orders/run_result.h"

#include <boost/json.hpp>

#include "base/base64.h"
#include "base/utf8.h"
#include "render/json.h"

namespace tenure::orders {
namespace {

namespace json = boost::json;

constexpr std::size_t kCharacterBytesMax = 4;

// Output that was cut may end within a character.
BytesView whole_characters(BytesView bytes) {
  for (std::size_t less = 0; less < kCharacterBytesMax && less <= bytes.size(); ++less) {
    const BytesView text = bytes.substr(0, bytes.size() - less);
    if (is_utf8(text)) return text;
  }
  return bytes;
}

}  // namespace

std::string to_json(const RunResult& result) {
  const bool cut = result.output.size() < result.output_bytes;
  render::Json document;
  document.object().field("form", result.form).field("exit_code", result.exit_code);
  document.field("duration_ms", result.duration_ms);
  document.field("output", cut ? whole_characters(result.output) : BytesView(result.output));
  return document.field("output_bytes", result.output_bytes).end().text();
}

std::optional<RunResult> read_run_result(BytesView text) {
  json::error_code error;
  const json::value document = json::parse(json::string_view(text.data(), text.size()), error);
  if (error || !document.is_object()) return std::nullopt;
  const json::object& object = document.get_object();
  RunResult result;
  const auto text_of = [&](const char* name) -> std::optional<std::string> {
    const json::value* const value = object.if_contains(name);
    if (value == nullptr || !value->is_string()) return std::nullopt;
    return std::string(value->get_string().data(), value->get_string().size());
  };
  const auto number_of = [&](const char* name) {
    const json::value* const value = object.if_contains(name);
    return value != nullptr && value->is_int64() ? value->get_int64() : 0;
  };
  const auto form = text_of("form");
  if (!form) return std::nullopt;
  result.form = *form;
  result.exit_code = static_cast<int>(number_of("exit_code"));
  result.duration_ms = number_of("duration_ms");
  result.output_bytes = static_cast<std::uint64_t>(number_of("output_bytes"));
  if (const auto output = text_of("output")) result.output = *output;
  if (const auto encoded = text_of("output_base64")) result.output = from_base64(*encoded).value_or("");
  return result;
}

}  // namespace tenure::orders
