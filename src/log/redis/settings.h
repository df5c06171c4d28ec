#pragma once

// Parses a Redis URL.
//
//   redis://[USER:PASSWORD@]HOST[:6379][/DB]                     TCP
//   rediss://…                                                   TCP with TLS
//   redis+sentinel://[USER:PASSWORD@]HOST[:26379],…/SERVICE[/DB]  the master that the sentinels report
//   rediss+sentinel://…                                          the same, with TLS to sentinels and server
//   redis+unix://[USER:PASSWORD@]/PATH, unix:/PATH               a unix socket
//
// and after a `?`, joined by `&`:
//
//   db=N  wait_replicas=N  timeout=MS  login_patience=SECONDS  password_file=PATH  sentinel_user=NAME
//   sentinel_password_file=PATH  ca_file=PATH  cert_file=PATH  key_file=PATH  server_name=NAME  verify=none
//
// If the URL has no password, it comes from `password_file`, else from TENURE_REDIS_PASSWORD, else from the file that
// TENURE_REDIS_PASSWORD_FILE names. The user comes from TENURE_REDIS_USER. Sentinels use
// TENURE_REDIS_SENTINEL_PASSWORD and TENURE_REDIS_SENTINEL_PASSWORD_FILE. Password files are read again for each
// connection (login.h). No error repeats a part of the URL that may contain credentials.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "log/login.h"
#include "net/endpoint.h"

namespace tenure::redis {

struct RedisSettings {
  std::vector<net::Address> addresses;  // the server, or the sentinels; empty for a socket
  std::string socket_path;
  std::string service;  // not empty: the addresses are those of sentinels
  Login login;
  Login sentinel_login;
  net::TlsOptions tls;
  std::uint32_t database = 0;
  std::uint32_t wait_replicas = 0;
  Nanos timeout = std::chrono::seconds(2);          // for a connection to be made, and for a server to stay silent
  Nanos login_patience = std::chrono::seconds(60);  // for new connections of an open log to be refused in a row
  std::string shown;                                // the URL for messages, without credentials and options
};

// `url` is the whole URL, with its scheme.
Result<RedisSettings> parse_settings(std::string_view url);

}  // namespace tenure::redis
