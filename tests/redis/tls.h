#pragma once

// Certificates for a redis-server and its clients, created with openssl.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "log_conformance/child.h"
#include "log_conformance/temporary_directory.h"
#include "redis/server.h"

namespace tenure::conformance {

// An authority, a server and a client that it has signed, and one that it has not.
class RedisTls : public testing::Test {
 protected:
  void SetUp() override {
    make_all();
    make("stranger", {});
  }
  // New ones, of new authority, in the files of the old. A file is replaced as a whole.
  void make_all() const {
    make("ca", {});
    make("server",
         {"-CA", file("ca.pem"), "-CAkey", file("ca.key"), "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"});
    make("client", {"-CA", file("ca.pem"), "-CAkey", file("ca.key")});
  }
  std::string file(const std::string& name) const { return directory_.path() + "/" + name; }

  void make(const std::string& name, const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"req",
                                      "-x509",
                                      "-newkey",
                                      "ec",
                                      "-pkeyopt",
                                      "ec_paramgen_curve:prime256v1",
                                      "-nodes",
                                      "-keyout",
                                      file(name + ".key"),
                                      "-out",
                                      file(name + ".pem"),
                                      "-subj",
                                      "/CN=" + name,
                                      "-days",
                                      "2"};
    words.insert(words.end(), more.begin(), more.end());
    Child openssl("/usr/bin/openssl", words);
    ASSERT_EQ(openssl.wait(), 0);
  }
  std::vector<std::string> options(const std::string& clients) {
    tls_port_ = free_port();
    return {"--tls-port",       std::to_string(tls_port_), "--tls-cert-file", file("server.pem"),   "--tls-key-file",
            file("server.key"), "--tls-ca-cert-file",      file("ca.pem"),    "--tls-auth-clients", clients};
  }
  std::string url(const std::string& host, const std::string& more) const {
    return "rediss://" + host + ":" + std::to_string(tls_port_) + "?timeout=5000&" + more;
  }

  const TemporaryDirectory directory_;
  std::uint16_t tls_port_ = 0;
};

}  // namespace tenure::conformance
