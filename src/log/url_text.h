#pragma once

// The parts of a server's URL, for the engines that are reached by a network. No error repeats what it refuses: in a
// mistyped URL it may contain a part of the password.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/endpoint.h"

namespace tenure {

// Nothing if the text is not a number from `min` to `max`.
std::optional<std::uint32_t> url_number(std::string_view text, std::uint32_t min, std::uint32_t max);

// Decodes %XX. Nothing if the text is malformed or contains a zero byte.
std::optional<std::string> percent_decoded(std::string_view text);

// Whether this may be a host's name or address. Servers name hosts, too.
bool is_host(std::string_view text);

// HOST[:PORT]. `port` is the default, `operation` is for errors.
Result<net::Address> parse_address(std::string_view text, std::uint16_t port, const std::string& operation);

}  // namespace tenure
