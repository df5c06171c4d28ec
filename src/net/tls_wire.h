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
  // Errc::refused names the file that is of no use; Errc::invalid: built without TLS.
  static Result<std::shared_ptr<TlsContext>> server(const std::string& certificate, const std::string& key);
  static Result<std::shared_ptr<TlsContext>> client(const std::string& authorities);

  virtual ~TlsContext() = default;
  // The handshake; `host` is whom a client expects, and empty for a server. Errc::refused where the peer is not
  // trusted, Errc::closed where it ended the connection. The socket stays the caller's, and must not block.
  virtual Result<std::unique_ptr<Wire>> open(int socket, const std::string& host, Time deadline) = 0;
};

}  // namespace tenure::net
