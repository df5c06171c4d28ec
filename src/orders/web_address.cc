#include "orders/web_address.h"

#include <algorithm>
#include <charconv>

namespace tenure::orders {
namespace {

constexpr std::size_t kHostBytesMax = 255;

Failure bad_address(std::string why) { return fail(Errc::invalid, "read URL", std::move(why)); }

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool is_address_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' || c == '.';
}

Status take_port(std::string_view text, WebAddress& into) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, into.port);
  if (read.ec != std::errc() || read.ptr != end || into.port == 0) return bad_address("its port is no number");
  return {};
}

Status take_authority(std::string_view text, WebAddress& into) {
  if (text.find('@') != std::string_view::npos) return bad_address("it must not have a login");
  std::string_view port;
  bool fits = false;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return bad_address("its address has no ]");
    into.host = text.substr(1, close - 1);
    port = text.substr(close + 1);
    fits = std::all_of(into.host.begin(), into.host.end(), is_address_character);
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    into.host = text.substr(0, colon);
    port = text.substr(colon);
    fits = std::all_of(into.host.begin(), into.host.end(), is_host_character);
  }
  if (into.host.empty() || into.host.size() > kHostBytesMax || !fits) return bad_address("its host is malformed");
  if (port.empty()) return {};
  if (port.front() != ':') return bad_address("its host is malformed");
  return take_port(port.substr(1), into);
}

}  // namespace

std::string WebAddress::authority() const {
  const bool usual = port == (tls ? kHttpsPort : kHttpPort);
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return usual ? name : name + ":" + std::to_string(port);
}

Result<WebAddress> parse_web_address(std::string_view url) {
  WebAddress address;
  if (url.starts_with("https://")) {
    address.tls = true;
  } else if (!url.starts_with("http://")) {
    return bad_address("only https:// and http:// can be fetched");
  }
  address.port = address.tls ? kHttpsPort : kHttpPort;
  url.remove_prefix(address.tls ? 8 : 7);
  const bool plain = std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!plain) return bad_address("it has characters that must be written %XX");
  const std::size_t end = std::min(url.find_first_of("/?#"), url.size());
  if (Status taken = take_authority(url.substr(0, end), address); !taken) return Failure(taken.error());
  url.remove_prefix(end);
  url = url.substr(0, url.find('#'));
  address.target = (url.starts_with('/') ? "" : "/") + std::string(url);
  return address;
}

Result<WebAddress> follow(const WebAddress& from, std::string_view location) {
  if (!location.starts_with('/') || location.starts_with("//")) return parse_web_address(location);
  WebAddress to = from;
  const std::string_view target = location.substr(0, location.find('#'));
  const bool plain = std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!plain) return bad_address("it has characters that must be written %XX");
  to.target = target;
  return to;
}

}  // namespace tenure::orders
