#pragma once

// A client's TLS: its own certificate, and the authorities that it trusts. The files are read again for each
// connection, so that they can be replaced while the client runs. If they cannot be used (only one of two was replaced,
// or one is half written), the connection uses the files that were read before, and a warning says so once.
//
// Only reactor.cc includes this, because of Asio.

#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "net/endpoint.h"
#include "net/tls_files.h"

namespace tenure::net {

// Belongs to the loop.
class ClientTls {
 public:
  using Context = boost::asio::ssl::context;
  using Warn = std::function<void(const Error&)>;

  ClientTls(TlsOptions options, Warn warn) : options_(std::move(options)), warn_(std::move(warn)) {}

  const TlsOptions& options() const { return options_; }
  // Reads the files for the first time. They must be good.
  Status load();
  // For a new connection, which takes what it needs from the context.
  Context& renewed();

 private:
  Result<std::unique_ptr<Context>> read() const;
  bool names_files() const { return !options_.ca_file.empty() || !options_.cert_file.empty(); }

  const TlsOptions options_;
  const Warn warn_;
  std::unique_ptr<Context> context_;
  std::string trouble_;  // the last warning
};

inline Status ClientTls::load() {
  auto made = read();
  if (!made) return Failure(made.error());
  context_ = *std::move(made);
  return {};
}

inline ClientTls::Context& ClientTls::renewed() {
  if (!names_files()) return *context_;
  auto made = read();
  if (made) {
    context_ = *std::move(made);
    trouble_.clear();
  } else if (made.error().context != trouble_) {
    trouble_ = made.error().context;
    if (warn_) warn_({Errc::refused, "connect", trouble_ + "; until it is, those read before are used"});
  }
  return *context_;
}

inline Result<std::unique_ptr<ClientTls::Context>> ClientTls::read() const {
  auto context = std::make_unique<Context>(Context::tls_client);
  SSL_CTX& handle = *context->native_handle();
  SSL_CTX_set_verify(&handle, options_.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (Status loaded = load_authorities(handle, options_.ca_file); !loaded) return Failure(loaded.error());
  if (options_.cert_file.empty()) return context;
  const std::string& key = options_.key_file.empty() ? options_.cert_file : options_.key_file;
  if (Status loaded = load_certificate(handle, options_.cert_file, key); !loaded) return Failure(loaded.error());
  return context;
}

}  // namespace tenure::net
