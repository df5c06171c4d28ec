#pragma once

// A redis-server with TLS.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "log_conformance/certificates.h"
#include "redis/server.h"

namespace tenure::conformance {

class RedisTls : public testing::Test {
 protected:
  void SetUp() override { certificates_.make_all(); }
  void make_all() const { certificates_.make_signed(); }
  std::string file(const std::string& name) const { return certificates_.file(name); }
  std::vector<std::string> options(const std::string& clients) {
    tls_port_ = free_port();
    return {"--tls-port",       std::to_string(tls_port_), "--tls-cert-file", file("server.pem"),   "--tls-key-file",
            file("server.key"), "--tls-ca-cert-file",      file("ca.pem"),    "--tls-auth-clients", clients};
  }
  std::string url(const std::string& host, const std::string& more) const {
    return "rediss://" + host + ":" + std::to_string(tls_port_) + "?timeout=5000&" + more;
  }

  const Certificates certificates_;
  std::uint16_t tls_port_ = 0;
};

}  // namespace tenure::conformance
