#include "log/redis/settings.h"

#include <algorithm>

#include "log/redis/schemes.h"
#include "log/url_settings.h"
#include "log/url_text.h"

namespace tenure::redis {
namespace {

constexpr std::uint16_t kServerPort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;
constexpr std::size_t kSentinelsMax = 32;
constexpr std::uint32_t kDatabaseMax = 1U << 20;
constexpr std::uint32_t kReplicasMax = 64;
constexpr std::uint32_t kTimeoutMsMin = 50;
constexpr std::uint32_t kTimeoutMsMax = 600'000;
constexpr std::uint32_t kPatienceSecondsMax = 86'400;

const std::string kOpening = "redis open";

Failure invalid(std::string context) { return fail(Errc::invalid, kOpening, std::move(context)); }

const Scheme* scheme_of(std::string_view url) {
  const std::string_view name = url.substr(0, url.find(':'));
  const auto* const found =
      std::find_if(kSchemes.begin(), kSchemes.end(), [&](const Scheme& scheme) { return scheme.name == name; });
  return found == kSchemes.end() || name.size() == url.size() ? nullptr : found;
}

Status take_login(std::string_view text, RedisSettings& settings) {
  Result<Login> login = parse_login(text, kOpening);
  if (!login) return Failure(login.error());
  settings.login = *std::move(login);
  return {};
}

Status take_addresses(std::string_view hosts, bool sentinel, RedisSettings& settings) {
  while (!hosts.empty()) {
    const std::size_t comma = std::min(hosts.find(','), hosts.size());
    auto address = parse_address(hosts.substr(0, comma), sentinel ? kSentinelPort : kServerPort, kOpening);
    if (!address) return Failure(address.error());
    settings.addresses.push_back(*std::move(address));
    hosts.remove_prefix(std::min(comma + 1, hosts.size()));
  }
  if (settings.addresses.empty()) return invalid("the URL names no host");
  if (!sentinel && settings.addresses.size() > 1) {
    return invalid("several hosts are for redis+sentinel://HOST,HOST/SERVICE");
  }
  if (settings.addresses.size() > kSentinelsMax) return invalid("more than 32 sentinels");
  return {};
}

Status take_database(std::string_view text, RedisSettings& settings) {
  if (text.empty()) return {};
  const auto database = url_number(text, 0, kDatabaseMax);
  if (!database) return invalid("the database is not a number: write redis://HOST/0");
  settings.database = *database;
  return {};
}

// SERVICE[/DB] or [DB], without the leading slash.
Status take_path(std::string_view path, bool sentinel, RedisSettings& settings) {
  if (!sentinel) return take_database(path, settings);
  const std::size_t slash = std::min(path.find('/'), path.size());
  const auto service = percent_decoded(path.substr(0, slash));
  if (!service || service->empty()) {
    return invalid("the URL has no service: write redis+sentinel://HOST,HOST/SERVICE");
  }
  settings.service = *service;
  return take_database(path.substr(std::min(slash + 1, path.size())), settings);
}

// //[LOGIN@]HOSTS[/PATH]. A password may contain an unescaped `@`, but no `/` or `?`.
Status take_network(std::string_view text, const Scheme& scheme, RedisSettings& settings) {
  const std::size_t end = std::min(text.find('/'), text.size());
  const std::string_view authority = text.substr(0, end);
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    if (Status login = take_login(authority.substr(0, at), settings); !login) return login;
  }
  const std::string_view hosts = at == std::string_view::npos ? authority : authority.substr(at + 1);
  if (Status taken = take_addresses(hosts, scheme.sentinel, settings); !taken) return taken;
  const std::string_view path = text.substr(std::min(end + 1, text.size()));
  if (path.find('@') != std::string_view::npos) return invalid("write / ? and @ in a password as %2F, %3F and %40");
  if (Status taken = take_path(path, scheme.sentinel, settings); !taken) return taken;
  settings.shown = std::string(scheme.name) + "://" + std::string(hosts);
  if (scheme.sentinel) settings.shown += "/" + settings.service;
  return {};
}

// [//[LOGIN@]]/PATH
Status take_socket(std::string_view text, const Scheme& scheme, RedisSettings& settings) {
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    const std::size_t at = text.find('@');
    const std::size_t slash = text.find('/');
    if (at < slash) {
      if (Status login = take_login(text.substr(0, at), settings); !login) return login;
      text.remove_prefix(at + 1);
    }
  }
  const auto path = percent_decoded(text);
  if (!path || !path->starts_with('/')) return invalid("the URL has no socket: write redis+unix:///PATH");
  if (path->size() > 107) return invalid("the socket's path is longer than 107 bytes");
  settings.socket_path = *path;
  settings.shown = std::string(scheme.name) + ":" + *path;
  return {};
}

Status take_option(std::string_view name, const std::string& value, RedisSettings& settings) {
  const auto number = [&](std::uint32_t min, std::uint32_t max, std::uint32_t& into) {
    return take_number(name, value, min, max, into, kOpening);
  };
  if (name == "db") return number(0, kDatabaseMax, settings.database);
  if (name == "wait_replicas") return number(0, kReplicasMax, settings.wait_replicas);
  if (name == "timeout") {
    std::uint32_t ms = 0;
    if (Status taken = number(kTimeoutMsMin, kTimeoutMsMax, ms); !taken) return taken;
    settings.timeout = std::chrono::milliseconds(ms);
    return {};
  }
  if (name == "login_patience") {
    std::uint32_t seconds = 0;
    if (Status taken = number(0, kPatienceSecondsMax, seconds); !taken) return taken;
    settings.login_patience = std::chrono::seconds(seconds);
    return {};
  }
  if (name == "password_file") return use_password_file(value, settings.login);
  if (name == "sentinel_password_file") return use_password_file(value, settings.sentinel_login);
  if (name == "sentinel_user") {
    settings.sentinel_login.user = value;
    return {};
  }
  if (name == "server_name") {
    settings.tls.server_name = value;
    return {};
  }
  const Result<bool> tls = take_tls_option(name, value, settings.tls, kOpening);
  if (!tls) return Failure(tls.error());
  if (*tls) return {};
  return invalid(
      "unknown option; the options are db, wait_replicas, timeout, login_patience, password_file, sentinel_user, "
      "sentinel_password_file, ca_file, cert_file, key_file, server_name and verify");
}

// Fills in what the URL leaves open, and checks the whole.
Status complete(RedisSettings& settings) {
  if (Status taken = take_password_from_environment("TENURE_REDIS_PASSWORD", settings.login); !taken) return taken;
  if (Status taken = take_password_from_environment("TENURE_REDIS_SENTINEL_PASSWORD", settings.sentinel_login);
      !taken) {
    return taken;
  }
  if (Status good = check_credentials(settings.login, settings.tls, "rediss", kOpening); !good) return good;
  if (settings.login.given() && settings.login.user.empty()) settings.login.user = environment("TENURE_REDIS_USER");
  return {};
}

}  // namespace

Result<RedisSettings> parse_settings(std::string_view url) {
  const Scheme* const scheme = scheme_of(url);
  if (scheme == nullptr) return invalid("not a URL of Redis: write redis://HOST:PORT");
  RedisSettings settings;
  settings.tls.on = scheme->tls;
  const std::size_t question = std::min(url.find('?'), url.size());
  std::string_view place = url.substr(0, question).substr(scheme->name.size() + 1);
  const std::string_view options = url.substr(std::min(question + 1, url.size()));
  Status taken = check_login_ends(place, options, kOpening);
  if (!taken) return Failure(taken.error());
  if (scheme->socket) {
    taken = take_socket(place, *scheme, settings);
  } else if (place.starts_with("//")) {
    taken = take_network(place.substr(2), *scheme, settings);
  } else {
    taken = invalid("write " + std::string(scheme->name) + "://HOST:PORT");
  }
  if (!taken) return Failure(taken.error());
  taken = take_options(options, kOpening, [&](std::string_view name, const std::string& value) {
    return take_option(name, value, settings);
  });
  if (!taken) return Failure(taken.error());
  if (taken = complete(settings); !taken) return Failure(taken.error());
  return settings;
}

}  // namespace tenure::redis
