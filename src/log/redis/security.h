#pragma once

// What TLS connections trust, and show of themselves. The files are read again for each connection, so that
// certificates can be replaced while a log is open. Files that are of no use (one of two was replaced, or is half
// written) change nothing: the last ones that were remain in use, and that is said once.
//
// Included by reactor.cc alone, as it includes Asio.

#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "log/redis/settings.h"

namespace tenure::redis {

// Belongs to the loop.
class Security {
 public:
  using Context = boost::asio::ssl::context;
  using Warn = std::function<void(const Error&)>;

  Security(Tls tls, Warn warn) : tls_(std::move(tls)), warn_(std::move(warn)) {}

  const Tls& tls() const { return tls_; }
  // The first time, where there must be no mistake.
  Status load();
  // For a new connection, which keeps what it needs of it.
  Context& renewed();

 private:
  Result<std::unique_ptr<Context>> read() const;
  bool names_files() const { return !tls_.ca_file.empty() || !tls_.cert_file.empty(); }

  const Tls tls_;
  const Warn warn_;
  std::unique_ptr<Context> context_;
  std::string trouble_;  // what was last said
};

inline Status Security::load() {
  auto made = read();
  if (!made) return Failure(made.error());
  context_ = *std::move(made);
  return {};
}

inline Security::Context& Security::renewed() {
  if (!names_files()) return *context_;
  auto made = read();
  if (made) {
    context_ = *std::move(made);
    trouble_.clear();
  } else if (made.error().context != trouble_) {
    trouble_ = made.error().context;
    if (warn_) warn_({Errc::refused, "redis connect", trouble_ + "; until it is, those read before are used"});
  }
  return *context_;
}

inline Result<std::unique_ptr<Security::Context>> Security::read() const {
  namespace ssl = boost::asio::ssl;
  using boost::system::error_code;
  auto context = std::make_unique<Context>(Context::tls_client);
  const auto bad = [](const std::string& file, const error_code& error) {
    return fail(Errc::refused, "redis open", file + ": " + error.message() + "; it must be a readable PEM file");
  };
  error_code error;
  if (context->set_verify_mode(tls_.verify ? ssl::verify_peer : ssl::verify_none, error); error) {
    return bad("verify", error);
  }
  if (tls_.ca_file.empty()) {
    if (context->set_default_verify_paths(error); error) return bad("the system's authorities", error);
  } else if (context->load_verify_file(tls_.ca_file, error); error) {
    return bad(tls_.ca_file, error);
  }
  if (tls_.cert_file.empty()) return context;
  if (context->use_certificate_chain_file(tls_.cert_file, error); error) return bad(tls_.cert_file, error);
  const std::string& key = tls_.key_file.empty() ? tls_.cert_file : tls_.key_file;
  if (context->use_private_key_file(key, Context::pem, error); error) return bad(key, error);
  if (SSL_CTX_check_private_key(context->native_handle()) != 1) {
    return fail(Errc::refused, "redis open", key + ": it is not the key of " + tls_.cert_file);
  }
  return context;
}

}  // namespace tenure::redis
