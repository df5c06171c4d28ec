#include "log/kafka/settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "log/url_text.h"

namespace tenure::kafka {
namespace {

constexpr std::uint16_t kPort = 9092;
constexpr std::size_t kBrokersMax = 64;
constexpr std::size_t kPrefixBytesMax = 40;
constexpr std::uint32_t kTimeoutMsMin = 500;
constexpr std::uint32_t kTimeoutMsMax = 300'000;
constexpr std::uint32_t kReplicationMax = 64;
const std::string kOperation = "kafka open";

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kMechanisms = {
    {{"plain", "PLAIN"},
     {"scram-sha-256", "SCRAM-SHA-256"},
     {"scram-sha-512", "SCRAM-SHA-512"},
     {"oauthbearer", "OAUTHBEARER"}}};

Failure invalid(std::string context) { return fail(Errc::invalid, kOperation, std::move(context)); }

Status take_login(std::string_view text, Login& login) {
  const std::size_t colon = text.find(':');
  const auto user = percent_decoded(text.substr(0, colon));
  const auto password = percent_decoded(colon == std::string_view::npos ? "" : text.substr(colon + 1));
  if (!user || !password) return invalid("user or password: %XX must be two hexadecimal digits");
  login = {.user = *user, .password = *password, .password_file = ""};
  return {};
}

Status take_brokers(std::string_view hosts, KafkaSettings& settings) {
  std::size_t count = 0;
  while (!hosts.empty()) {
    const std::size_t comma = std::min(hosts.find(','), hosts.size());
    const auto address = parse_address(hosts.substr(0, comma), kPort, kOperation);
    if (!address) return Failure(address.error());
    const bool six = address->host.find(':') != std::string::npos;
    settings.brokers += (settings.brokers.empty() ? "" : ",") + (six ? "[" + address->host + "]" : address->host) +
                        ":" + std::to_string(address->port);
    hosts.remove_prefix(std::min(comma + 1, hosts.size()));
    if (++count > kBrokersMax) return invalid("more than 64 brokers; a few of them are enough");
  }
  if (count == 0) return invalid("the URL names no host");
  return {};
}

// //[LOGIN@]HOSTS[/]. A password may contain an unescaped `@`, but no `/` or `?`.
Status take_network(std::string_view text, std::string_view scheme, KafkaSettings& settings) {
  const std::size_t end = std::min(text.find('/'), text.size());
  const std::string_view authority = text.substr(0, end);
  const std::string_view path = text.substr(std::min(end + 1, text.size()));
  if (path.find('@') != std::string_view::npos) return invalid("write / ? and @ in a password as %2F, %3F and %40");
  if (!path.empty()) return invalid("a URL of Kafka has no path: write kafka://HOST:PORT");
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    if (Status login = take_login(authority.substr(0, at), settings.login); !login) return login;
  }
  const std::string_view hosts = at == std::string_view::npos ? authority : authority.substr(at + 1);
  if (Status taken = take_brokers(hosts, settings); !taken) return taken;
  settings.shown = std::string(scheme) + "://" + std::string(hosts);
  return {};
}

Status take_number(const std::string& name, std::string_view text, std::uint32_t min, std::uint32_t max,
                   std::uint32_t& into) {
  const auto value = url_number(text, min, max);
  if (!value) return invalid(name + " must be a number from " + std::to_string(min) + " to " + std::to_string(max));
  into = *value;
  return {};
}

Status take_mechanism(std::string_view value, KafkaSettings& settings) {
  for (const auto& [name, mechanism] : kMechanisms) {
    if (value == name) settings.sasl = mechanism;
  }
  if (settings.sasl.empty()) return invalid("sasl is plain, scram-sha-256, scram-sha-512 or oauthbearer");
  return {};
}

bool is_prefix(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return text.size() <= kPrefixBytesMax && text != "." && text != ".." && std::all_of(text.begin(), text.end(), fits);
}

Status take_option(const std::string& name, const std::string& value, KafkaSettings& settings) {
  if (name == "timeout") return take_number(name, value, kTimeoutMsMin, kTimeoutMsMax, settings.timeout_ms);
  if (name == "replication") return take_number(name, value, 1, kReplicationMax, settings.replication);
  if (name == "sasl") return take_mechanism(value, settings);
  if (name == "prefix") {
    if (!is_prefix(value)) return invalid("prefix takes letters, digits, - and ., at most 40");
    settings.prefix = value;
    return {};
  }
  if (name == "password_file") return use_password_file(value, settings.login);
  const std::array<std::pair<std::string_view, std::string*>, 3> texts = {{{"ca_file", &settings.tls.ca_file},
                                                                           {"cert_file", &settings.tls.cert_file},
                                                                           {"key_file", &settings.tls.key_file}}};
  for (const auto& [known, into] : texts) {
    if (name != known) continue;
    *into = value;
    return {};
  }
  if (name == "verify" && value == "none") {
    settings.tls.verify = false;
    return {};
  }
  if (name == "verify") return invalid("verify takes one value: none");
  return invalid(
      "unknown option; the options are sasl, password_file, timeout, replication, prefix, ca_file, cert_file, key_file "
      "and verify");
}

Status take_options(std::string_view text, KafkaSettings& settings) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view option = text.substr(0, end);
    const std::size_t equals = option.find('=');
    const auto value = percent_decoded(equals == std::string_view::npos ? "" : option.substr(equals + 1));
    const bool given = value && (!value->empty() || option.substr(0, equals) == "prefix");
    if (!given || equals == std::string_view::npos)
      return invalid("an option has no value: write ?NAME=VALUE&NAME=VALUE");
    if (Status taken = take_option(std::string(option.substr(0, equals)), *value, settings); !taken) return taken;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Fills in what the URL leaves open.
Status take_environment(KafkaSettings& settings) {
  Login& login = settings.login;
  if (!login.given()) {
    login.password = environment("TENURE_KAFKA_PASSWORD");
    const std::string file = environment("TENURE_KAFKA_PASSWORD_FILE");
    if (!login.given() && !file.empty()) {
      if (Status used = use_password_file(file, login); !used) return used;
    }
  }
  if (login.given() && login.user.empty()) login.user = environment("TENURE_KAFKA_USER");
  return {};
}

Status check(KafkaSettings& settings) {
  const Login& login = settings.login;
  const bool token = settings.sasl == "OAUTHBEARER";
  if (settings.sasl.empty() && login.given()) settings.sasl = settings.tls.on ? "PLAIN" : "SCRAM-SHA-512";
  if (!login.user.empty() && !login.given()) {
    return invalid("a user without a password: write USER:PASSWORD@, add password_file, or leave the user out");
  }
  if (token && !login.given()) return invalid("sasl=oauthbearer needs a token: add password_file");
  if (!settings.sasl.empty() && !token && login.user.empty())
    return invalid("a login needs a user: write USER:PASSWORD@");
  const net::TlsOptions& tls = settings.tls;
  const bool tls_options = !tls.ca_file.empty() || !tls.cert_file.empty() || !tls.key_file.empty() || !tls.verify;
  if (tls_options && !tls.on) return invalid("TLS options need kafkas://");
  if (tls.cert_file.empty() && !tls.key_file.empty()) return invalid("key_file needs a cert_file");
  return {};
}

}  // namespace

Result<KafkaSettings> parse_settings(std::string_view url) {
  const std::size_t colon = url.find(':');
  const std::string_view scheme = url.substr(0, colon);
  if (colon == std::string_view::npos || (scheme != "kafka" && scheme != "kafkas")) {
    return invalid("not a URL of Kafka: write kafka://HOST:PORT");
  }
  KafkaSettings settings;
  settings.tls.on = scheme == "kafkas";
  const std::size_t question = std::min(url.find('?'), url.size());
  const std::string_view place = url.substr(0, question).substr(colon + 1);
  const std::string_view options = url.substr(std::min(question + 1, url.size()));
  if (options.find('@') != std::string_view::npos && place.find('@') == std::string_view::npos) {
    return invalid("write / ? and @ in a password, and @ in an option, as %2F, %3F and %40");
  }
  if (!place.starts_with("//")) return invalid("write " + std::string(scheme) + "://HOST:PORT");
  if (Status taken = take_network(place.substr(2), scheme, settings); !taken) return Failure(taken.error());
  if (Status taken = take_options(options, settings); !taken) return Failure(taken.error());
  if (Status taken = take_environment(settings); !taken) return Failure(taken.error());
  if (Status good = check(settings); !good) return Failure(good.error());
  return settings;
}

}  // namespace tenure::kafka
