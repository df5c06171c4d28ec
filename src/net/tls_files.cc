#include "net/tls_files.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <cstring>

namespace tenure::net {
namespace {

Status bad_file(const std::string& file) {
  return fail(Errc::refused, "TLS", file + ": " + take_tls_error() + "; it must be a readable PEM file");
}

}  // namespace

// The first of several errors is the cause of the others.
std::string take_tls_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "TLS failed";
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
  const char* const reason = ERR_reason_error_string(code);
  return reason == nullptr ? "TLS failed" : reason;
}

Status load_authorities(SSL_CTX& context, const std::string& file) {
  ERR_clear_error();
  if (file.empty()) {
    if (SSL_CTX_set_default_verify_paths(&context) != 1) return bad_file("the system's authorities");
  } else if (SSL_CTX_load_verify_locations(&context, file.c_str(), nullptr) != 1) {
    return bad_file(file);
  }
  return {};
}

Status load_certificate(SSL_CTX& context, const std::string& certificate, const std::string& key) {
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(&context, certificate.c_str()) != 1) return bad_file(certificate);
  if (SSL_CTX_use_PrivateKey_file(&context, key.c_str(), SSL_FILETYPE_PEM) == 1) return {};
  if (ERR_GET_REASON(ERR_peek_error()) != X509_R_KEY_VALUES_MISMATCH) return bad_file(key);
  ERR_clear_error();
  return fail(Errc::refused, "TLS", key + ": it is not the key of " + certificate);
}

void expect_host(SSL& ssl, const std::string& host, bool verify) {
  in6_addr number{};
  const bool numeric =
      inet_pton(AF_INET, host.c_str(), &number) == 1 || inet_pton(AF_INET6, host.c_str(), &number) == 1;
  if (!numeric) {
    // What SSL_set_tlsext_host_name() is, without its cast.
    SSL_ctrl(&ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, const_cast<char*>(host.c_str()));
  }
  if (!verify) return;
  if (numeric) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(&ssl), host.c_str());
  } else {
    SSL_set1_host(&ssl, host.c_str());
  }
}

}  // namespace tenure::net
