#include "log/kafka/settings.h"

#include <algorithm>
#include <array>

#include "base/escaped_name.h"
#include "log/url_settings.h"
#include "log/url_text.h"

namespace tenure::kafka {
namespace {

constexpr std::uint16_t kPort = 9092;
constexpr std::size_t kBrokersMax = 64;
constexpr std::size_t kPrefixBytesMax = 40;
constexpr std::uint32_t kTimeoutMsMin = 500;
constexpr std::uint32_t kTimeoutMsMax = 300'000;
constexpr std::uint32_t kReplicationMax = 64;
constexpr std::uint32_t kPatienceSecondsMax = 86'400;
const std::string kOperation = "kafka open";

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kMechanisms = {
    {{"plain", "PLAIN"},
     {"scram-sha-256", "SCRAM-SHA-256"},
     {"scram-sha-512", "SCRAM-SHA-512"},
     {"oauthbearer", "OAUTHBEARER"}}};

Failure invalid(std::string context) { return fail(Errc::invalid, kOperation, std::move(context)); }

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
    Result<Login> login = parse_login(authority.substr(0, at), kOperation);
    if (!login) return Failure(login.error());
    settings.login = *std::move(login);
  }
  const std::string_view hosts = at == std::string_view::npos ? authority : authority.substr(at + 1);
  if (Status taken = take_brokers(hosts, settings); !taken) return taken;
  settings.shown = std::string(scheme) + "://" + std::string(hosts);
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
  const auto fits = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; };
  return text.size() <= kPrefixBytesMax && text != "." && text != ".." && std::all_of(text.begin(), text.end(), fits);
}

Status take_option(std::string_view name, const std::string& value, KafkaSettings& settings) {
  if (name == "timeout") {
    return take_number(name, value, kTimeoutMsMin, kTimeoutMsMax, settings.timeout_ms, kOperation);
  }
  if (name == "replication") return take_number(name, value, 1, kReplicationMax, settings.replication, kOperation);
  if (name == "login_patience") {
    std::uint32_t seconds = 0;
    if (Status taken = take_number(name, value, 0, kPatienceSecondsMax, seconds, kOperation); !taken) return taken;
    settings.login_patience = std::chrono::seconds(seconds);
    return {};
  }
  if (name == "sasl") return take_mechanism(value, settings);
  if (name == "prefix") {
    if (!is_prefix(value)) return invalid("prefix takes letters, digits, - and ., at most 40");
    settings.prefix = value;
    return {};
  }
  if (name == "topics") {
    if (value != "own") return invalid("topics takes one value: own");
    settings.prefix.clear();
    return {};
  }
  if (name == "password_file") return use_password_file(value, settings.login);
  const Result<bool> tls = take_tls_option(name, value, settings.tls, kOperation);
  if (!tls) return Failure(tls.error());
  if (*tls) return {};
  return invalid(
      "unknown option; the options are sasl, password_file, login_patience, timeout, replication, prefix, topics, "
      "ca_file, cert_file, key_file and verify");
}

// Fills in what the URL leaves open.
Status take_environment(KafkaSettings& settings) {
  Login& login = settings.login;
  if (Status taken = take_password_from_environment("TENURE_KAFKA_PASSWORD", login); !taken) return taken;
  if (login.given() && login.user.empty()) login.user = environment("TENURE_KAFKA_USER");
  return {};
}

Status check(KafkaSettings& settings) {
  const Login& login = settings.login;
  if (Status good = check_credentials(login, settings.tls, "kafkas", kOperation); !good) return good;
  const bool token = settings.sasl == "OAUTHBEARER";
  if (settings.sasl.empty() && login.given()) settings.sasl = settings.tls.on ? "PLAIN" : "SCRAM-SHA-512";
  if (token && !login.given()) return invalid("sasl=oauthbearer needs a token: add password_file");
  if (!settings.sasl.empty() && !token && login.user.empty()) {
    return invalid("a login needs a user: write USER:PASSWORD@");
  }
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
  if (Status ends = check_login_ends(place, options, kOperation); !ends) return Failure(ends.error());
  if (!place.starts_with("//")) return invalid("write " + std::string(scheme) + "://HOST:PORT");
  if (Status named = take_network(place.substr(2), scheme, settings); !named) return Failure(named.error());
  const Status taken = take_options(options, kOperation, [&](std::string_view name, const std::string& value) {
    return take_option(name, value, settings);
  });
  if (!taken) return Failure(taken.error());
  if (Status found = take_environment(settings); !found) return Failure(found.error());
  if (Status good = check(settings); !good) return Failure(good.error());
  return settings;
}

}  // namespace tenure::kafka
