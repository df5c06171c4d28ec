#pragma once

// TLS over a socket, as a wire. Does not include OpenSSL.

#include <memory>
#include <string>

#include "base/result.h"
#include "net/wire.h"

namespace tenure::net {

// Keys and authorities, for many connections. Thread-safe once made.
class TlsContext {
 public:
  // Errc::refused names the file that cannot be used. Errc::invalid: this build has no TLS.
  static Result<std::shared_ptr<TlsContext>> server(const std::string& certificate, const std::string& key);
  static Result<std::shared_ptr<TlsContext>> client(const std::string& authorities);

  virtual ~TlsContext() = default;
  // Makes the handshake. `host` is the server that a client expects; a server leaves it empty. Errc::refused: the peer
  // is not trusted. Errc::closed: the peer ended the connection. The caller keeps the socket, which must not block.
  virtual Result<std::unique_ptr<Wire>> open(int socket, const std::string& host, Time deadline) = 0;
};

}  // namespace tenure::net
