#include "orders/run_options.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>

#include "orders/web_address.h"

namespace tenure::orders {
namespace {

namespace json = boost::json;

std::string lowered(std::string_view text) {
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return low;
}

// The parts between commas, without blanks around them; empty ones are left out.
std::vector<std::string> listed(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t first = part.find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    part = part.substr(first, part.find_last_not_of(" \t") - first + 1);
    parts.emplace_back(part);
  }
  return parts;
}

json::array array_of(const std::vector<std::string>& texts) {
  json::array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

std::vector<std::string> texts_of(const json::value& value) {
  std::vector<std::string> texts;
  for (const json::value& one : value.as_array()) texts.emplace_back(one.as_string().c_str());
  return texts;
}

}  // namespace

bool RunOptions::allows(Form form) const {
  switch (form) {
    case Form::command: return commands;
    case Form::container: return containers;
    case Form::url: return urls;
  }
  return false;
}

Status read_allowed(std::string_view text, RunOptions& into) {
  for (const std::string& form : listed(text)) {
    if (form == "command") {
      into.commands = true;
    } else if (form == "container") {
      into.containers = true;
    } else if (form == "url") {
      into.urls = true;
    } else {
      return fail(Errc::invalid, "read forms", "'" + form + "' is none of command, container and url");
    }
  }
  return {};
}

Status read_hosts(std::string_view text, RunOptions& into) {
  into.hosts = listed(lowered(text));
  for (const std::string& host : into.hosts) {
    const std::string_view name = host.starts_with("*.") ? std::string_view(host).substr(2) : std::string_view(host);
    const bool fits = !name.empty() && name.find_first_of("*/@ ") == std::string_view::npos;
    if (!fits) return fail(Errc::invalid, "read hosts", "'" + host + "' is no host: write HOST, HOST:PORT or *.DOMAIN");
  }
  return {};
}

bool host_allowed(const std::vector<std::string>& hosts, std::string_view host, std::uint16_t port, bool tls) {
  const std::string name = lowered(host);
  const std::string with_port = name + ":" + std::to_string(port);
  const bool usual = port == (tls ? kHttpsPort : kHttpPort);
  return std::any_of(hosts.begin(), hosts.end(), [&](const std::string& allowed) {
    if (!allowed.starts_with("*.")) return allowed == with_port || (usual && allowed == name);
    const std::string_view domain = std::string_view(allowed).substr(1);  // with its dot
    const auto ends_so = [&](std::string_view whole) {
      return whole.size() > domain.size() && whole.ends_with(domain);
    };
    return ends_so(with_port) || (usual && ends_so(name));
  });
}

std::string to_json(const RunOptions& options) {
  json::object object;
  object["commands"] = options.commands;
  object["containers"] = options.containers;
  object["urls"] = options.urls;
  object["hosts"] = array_of(options.hosts);
  object["handler"] = array_of(options.handler);
  object["runtime"] = array_of(options.runtime);
  object["run_ms"] = options.run_time.count();
  object["fetch_ms"] = options.fetch_time.count();
  object["order_bytes"] = options.order_bytes;
  object["output_bytes"] = options.output_bytes;
  return json::serialize(object);
}

Result<RunOptions> read_run_options(std::string_view text) {
  try {
    const json::value document = json::parse(json::string_view(text.data(), text.size()));
    const json::object& object = document.as_object();
    RunOptions options;
    options.commands = object.at("commands").as_bool();
    options.containers = object.at("containers").as_bool();
    options.urls = object.at("urls").as_bool();
    options.hosts = texts_of(object.at("hosts"));
    options.handler = texts_of(object.at("handler"));
    options.runtime = texts_of(object.at("runtime"));
    options.run_time = std::chrono::milliseconds(object.at("run_ms").to_number<std::int64_t>());
    options.fetch_time = std::chrono::milliseconds(object.at("fetch_ms").to_number<std::int64_t>());
    options.order_bytes = object.at("order_bytes").to_number<std::size_t>();
    options.output_bytes = object.at("output_bytes").to_number<std::size_t>();
    return options;
  } catch (const std::exception& error) {
    return fail(Errc::invalid, "read the options of an order", error.what());
  }
}

}  // namespace tenure::orders
