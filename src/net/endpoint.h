#pragma once

// Where a client connects to, and how.

#include <cstdint>
#include <string>

namespace tenure::net {

struct Address {
  std::string host;  // a name, an IPv4 address, or an IPv6 address without brackets
  std::uint16_t port = 0;

  friend bool operator==(const Address&, const Address&) = default;
};

struct Endpoint {
  Address address;
  std::string socket_path;  // not empty: a unix socket
  bool tls = false;
};

// A client's TLS.
struct TlsOptions {
  bool on = false;
  bool verify = true;       // checks the certificate's chain, and that the certificate is the host's
  std::string ca_file;      // empty: what the system trusts
  std::string cert_file;    // the client's own
  std::string key_file;     // empty: it lies in cert_file
  std::string server_name;  // empty: the host that is connected to
};

}  // namespace tenure::net
