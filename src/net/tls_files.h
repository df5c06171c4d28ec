#pragma once

// PEM files for OpenSSL, and the name that a server must have. Errors name the file that cannot be used.

#include <openssl/ssl.h>

#include <string>

#include "base/result.h"

namespace tenure::net {

// Trusts the authorities in `file`, or those of the system if it is empty.
Status load_authorities(SSL_CTX& context, const std::string& file);
Status load_certificate(SSL_CTX& context, const std::string& certificate, const std::string& key);

// A client names the server that it expects. With `verify` the handshake fails if the certificate is not that host's.
// `host` may be an address.
void expect_host(SSL& ssl, const std::string& host, bool verify);

// Why OpenSSL's last call failed. Forgets it.
std::string take_tls_error();

}  // namespace tenure::net
