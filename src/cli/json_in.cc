#include "cli/json_in.h"

#include <boost/json.hpp>

#include "base/base64.h"

namespace tenure::cli {
namespace {

namespace json = boost::json;

Failure bad_json(std::string context) { return fail(Errc::invalid, "read JSON", std::move(context)); }

Status take(std::string_view name, const json::value& value, Request& into) {
  const bool text = value.is_string();
  if (name == "key" && text) {
    into.key = Bytes(std::string_view(value.get_string()));
  } else if (name == "payload" && text) {
    into.text = Bytes(std::string_view(value.get_string()));
  } else if (name == "payload_base64" && text) {
    std::optional<Bytes> bytes = from_base64(std::string_view(value.get_string()));
    if (!bytes) return bad_json("payload_base64 is not valid base64");
    into.text = *std::move(bytes);
  } else if (name == "type" && text) {
    into.type = Bytes(std::string_view(value.get_string()));
  } else if (name == "task" && value.is_bool()) {
    into.job = value.get_bool() ? JobKind::task : JobKind::resident;
  } else if (name == "delay_ms" && value.is_int64() && value.get_int64() >= 0) {
    into.delay = std::chrono::milliseconds(value.get_int64());
  } else if (name == "max_attempts" && value.is_int64() && value.get_int64() >= 0 && value.get_int64() <= 10'000) {
    into.max_attempts = static_cast<std::uint32_t>(value.get_int64());
  } else {
    return bad_json("field '" + std::string(name) + "' is unknown, or its value has the wrong type");
  }
  return {};
}

}  // namespace

Status read_job_line(std::string_view line, Request& into) {
  json::error_code error;
  const json::value value = json::parse(json::string_view(line.data(), line.size()), error);
  if (error) return bad_json("not JSON: " + error.message());
  if (!value.is_object()) return bad_json("not a JSON object");
  for (const auto& member : value.get_object()) {
    const std::string_view name(member.key().data(), member.key().size());
    if (Status taken = take(name, member.value(), into); !taken) return taken;
  }
  return {};
}

}  // namespace tenure::cli
