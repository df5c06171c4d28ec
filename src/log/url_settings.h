#pragma once

// The settings that the URLs of all network engines have: a login, TLS, and a list of options. `operation` is for
// errors. No error repeats a part of the URL that may contain credentials.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "log/login.h"
#include "net/endpoint.h"

namespace tenure {

// USER:PASSWORD, both percent-encoded.
Result<Login> parse_login(std::string_view text, const std::string& operation);

// A password with an unescaped `/` or `?` ends the part of the URL that names the place, and leaves its `@` in the
// options. `place` is what stands before the question mark.
Status check_login_ends(std::string_view place, std::string_view options, const std::string& operation);

// NAME=VALUE&NAME=VALUE. Calls `take` with each name and its decoded value. Stops at the first error.
using TakeOption = std::function<Status(std::string_view name, const std::string& value)>;
Status take_options(std::string_view options, const std::string& operation, const TakeOption& take);

Status take_number(std::string_view name, std::string_view value, std::uint32_t min, std::uint32_t max,
                   std::uint32_t& into, const std::string& operation);

// ca_file, cert_file, key_file and verify. False for any other name.
Result<bool> take_tls_option(std::string_view name, const std::string& value, net::TlsOptions& into,
                             const std::string& operation);

// The value of an environment variable, or nothing.
std::string environment(const std::string& name);

// If the URL has no password: takes it from the environment variable `name`, or else from the file that `name`_FILE
// names.
Status take_password_from_environment(const std::string& name, Login& login);

// A user needs a password, TLS options need TLS, and a key needs a certificate. `tls_scheme` is the scheme with TLS.
Status check_credentials(const Login& login, const net::TlsOptions& tls, std::string_view tls_scheme,
                         const std::string& operation);

}  // namespace tenure
