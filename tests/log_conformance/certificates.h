#pragma once

// Certificates for a server of the loopback and its clients, created with openssl.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "log_conformance/child.h"
#include "log_conformance/temporary_directory.h"

namespace tenure::conformance {

// NAME.pem and NAME.key: an authority `ca`, a `server` and a `client` that it has signed, and a `stranger` that it has
// not.
class Certificates {
 public:
  void make_all() const {
    make_signed();
    make("stranger", {});
  }
  // New ones, of new authority, in the files of the old. A file is replaced as a whole.
  void make_signed() const {
    make("ca", {});
    make("server",
         {"-CA", file("ca.pem"), "-CAkey", file("ca.key"), "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"});
    make("client", {"-CA", file("ca.pem"), "-CAkey", file("ca.key")});
  }
  // `name` again, by the authority, but of yesterday.
  void expire(const std::string& name) const {
    make(name, {});
    Child openssl("/usr/bin/openssl", {"x509", "-in", file(name + ".pem"), "-CA", file("ca.pem"), "-CAkey",
                                       file("ca.key"), "-set_serial", "7", "-days", "-1", "-out", file(name + ".pem")});
    ASSERT_EQ(openssl.wait(), 0);
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

 private:
  const TemporaryDirectory directory_;
};

}  // namespace tenure::conformance
