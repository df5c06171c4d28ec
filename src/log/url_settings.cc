#include "log/url_settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "log/url_text.h"

namespace tenure {

Result<Login> parse_login(std::string_view text, const std::string& operation) {
  const std::size_t colon = text.find(':');
  const auto user = percent_decoded(text.substr(0, colon));
  const auto password = percent_decoded(colon == std::string_view::npos ? "" : text.substr(colon + 1));
  if (!user || !password) {
    return fail(Errc::invalid, operation, "user or password: %XX must be two hexadecimal digits");
  }
  return Login{.user = *user, .password = *password, .password_file = ""};
}

Status check_login_ends(std::string_view place, std::string_view options, const std::string& operation) {
  if (options.find('@') == std::string_view::npos || place.find('@') != std::string_view::npos) return {};
  return fail(Errc::invalid, operation, "write / ? and @ in a password, and @ in an option, as %2F, %3F and %40");
}

Status take_options(std::string_view options, const std::string& operation, const TakeOption& take) {
  while (!options.empty()) {
    const std::size_t end = std::min(options.find('&'), options.size());
    const std::string_view option = options.substr(0, end);
    const std::size_t equals = option.find('=');
    const auto value = percent_decoded(equals == std::string_view::npos ? "" : option.substr(equals + 1));
    if (!value || value->empty()) {
      return fail(Errc::invalid, operation, "an option has no value: write ?NAME=VALUE&NAME=VALUE");
    }
    if (Status taken = take(option.substr(0, equals), *value); !taken) return taken;
    options.remove_prefix(std::min(end + 1, options.size()));
  }
  return {};
}

Status take_number(std::string_view name, std::string_view value, std::uint32_t min, std::uint32_t max,
                   std::uint32_t& into, const std::string& operation) {
  const auto number = url_number(value, min, max);
  if (!number) {
    return fail(Errc::invalid, operation,
                std::string(name) + " must be a number from " + std::to_string(min) + " to " + std::to_string(max));
  }
  into = *number;
  return {};
}

Result<bool> take_tls_option(std::string_view name, const std::string& value, net::TlsOptions& into,
                             const std::string& operation) {
  if (name == "verify") {
    if (value != "none") return fail(Errc::invalid, operation, "verify takes one value: none");
    into.verify = false;
    return true;
  }
  const std::array<std::pair<std::string_view, std::string*>, 3> files = {
      {{"ca_file", &into.ca_file}, {"cert_file", &into.cert_file}, {"key_file", &into.key_file}}};
  for (const auto& [known, file] : files) {
    if (name != known) continue;
    *file = value;
    return true;
  }
  return false;
}

std::string environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

Status take_password_from_environment(const std::string& name, Login& login) {
  if (login.given()) return {};
  login.password = environment(name);
  const std::string file = environment(name + "_FILE");
  return login.given() || file.empty() ? Status() : use_password_file(file, login);
}

Status check_credentials(const Login& login, const net::TlsOptions& tls, std::string_view tls_scheme,
                         const std::string& operation) {
  if (!login.user.empty() && !login.given()) {
    return fail(Errc::invalid, operation,
                "a user without a password: write USER:PASSWORD@, add password_file, or leave the user out");
  }
  const bool tls_options = !tls.ca_file.empty() || !tls.cert_file.empty() || !tls.key_file.empty() ||
                           !tls.server_name.empty() || !tls.verify;
  if (tls_options && !tls.on) {
    return fail(Errc::invalid, operation, "TLS options need " + std::string(tls_scheme) + "://");
  }
  if (tls.cert_file.empty() && !tls.key_file.empty()) {
    return fail(Errc::invalid, operation, "key_file needs a cert_file");
  }
  return {};
}

}  // namespace tenure
