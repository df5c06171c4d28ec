#include "log/url_text.h"

#include <algorithm>
#include <charconv>

namespace tenure {
namespace {

constexpr std::size_t kHostBytesMax = 255;

}  // namespace

std::optional<std::uint32_t> url_number(std::string_view text, std::uint32_t min, std::uint32_t max) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min || value > max) return std::nullopt;
  return value;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    unsigned value = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
    if (error != std::errc() || end != text.data() + i + 3) return std::nullopt;
    bytes += static_cast<char>(value);
    i += 2;
  }
  if (bytes.find('\0') != std::string::npos) return std::nullopt;
  return bytes;
}

bool is_host(std::string_view text) {
  const auto fits = [](char c) { return static_cast<unsigned char>(c) > ' ' && c != '\x7f' && c != '%' && c != '@'; };
  return !text.empty() && text.size() <= kHostBytesMax && std::all_of(text.begin(), text.end(), fits);
}

Result<net::Address> parse_address(std::string_view text, std::uint16_t port, const std::string& operation) {
  const auto invalid = [&](std::string context) { return fail(Errc::invalid, operation, std::move(context)); };
  net::Address address{.host = "", .port = port};
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return invalid("an IPv6 address must be in brackets: [::1]");
    address.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    address.host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  if (address.host.empty()) return invalid("the URL names no host");
  if (!is_host(address.host)) return invalid("the host is not a name or an address");
  if (rest.empty()) return address;
  const auto given = rest.front() == ':' ? url_number(rest.substr(1), 1, UINT16_MAX) : std::nullopt;
  if (!given) return invalid("the port is not a number from 1 to 65535");
  address.port = static_cast<std::uint16_t>(*given);
  return address;
}

}  // namespace tenure
