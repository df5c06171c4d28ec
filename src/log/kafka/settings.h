#pragma once

// Parses a Kafka URL.
//
//   kafka://[USER:PASSWORD@]HOST[:9092][,HOST…]    any brokers of the cluster
//   kafkas://…                                     with TLS
//
// and after a `?`, joined by `&`:
//
//   sasl=plain|scram-sha-256|scram-sha-512|oauthbearer  password_file=PATH  timeout=MS  replication=N  prefix=NAME
//   topics=own login_patience=SECONDS  ca_file=PATH  cert_file=PATH  key_file=PATH  verify=none
//
// A user without `sasl` logs in with SCRAM-SHA-512 over kafka://, which does not send the password, and with PLAIN over
// kafkas://. With OAUTHBEARER the password is the token; a token in a file is read again whenever it is needed.
//
// If the URL has no password, it comes from `password_file`, else from TENURE_KAFKA_PASSWORD, else from the file that
// TENURE_KAFKA_PASSWORD_FILE names. The user comes from TENURE_KAFKA_USER. Each connection reads the file again. No
// error repeats a part of the URL that may contain credentials.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "log/kafka/login_refusals.h"
#include "log/login.h"
#include "net/endpoint.h"

namespace tenure::kafka {

struct KafkaSettings {
  std::string brokers;  // HOST:PORT, joined by commas
  std::string sasl;     // the mechanism, as Kafka writes it; empty: no login
  Login login;
  net::TlsOptions tls;
  std::uint32_t replication = 0;    // of new topics; zero: 3, or as many as there are brokers
  std::string prefix = "tenure";    // the first part of the topics' names; empty: they have the pool's own
  std::uint32_t timeout_ms = 3000;  // for a broker to stay silent
  Nanos login_patience = std::chrono::seconds(60);  // for the login of an open log to be refused
  std::string shown;                                // the URL for messages, without credentials and options
  // Shared by all copies, and so by all instances of a handle.
  std::shared_ptr<LoginRefusals> refusals = std::make_shared<LoginRefusals>();
};

// `url` is the whole URL, with its scheme.
Result<KafkaSettings> parse_settings(std::string_view url);

}  // namespace tenure::kafka
