#pragma once

// The URL that an order may be fetched from: http or https, without a login.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tenure::orders {

inline constexpr std::uint16_t kHttpPort = 80;
inline constexpr std::uint16_t kHttpsPort = 443;

struct WebAddress {
  bool tls = false;
  std::string host{};  // without brackets
  std::uint16_t port = 0;
  std::string target{};           // path and query
  std::string authority() const;  // for the request's Host
};

// Errc::invalid says what is wrong.
Result<WebAddress> parse_web_address(std::string_view url);
// Where a redirection leads: a whole URL, or a path at the same server.
Result<WebAddress> follow(const WebAddress& from, std::string_view location);

}  // namespace tenure::orders
