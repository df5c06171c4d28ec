// A server's token and certificate are replaced while it runs: each newcomer gets the current files.

#include <filesystem>
#include <fstream>
#include <mutex>

#include "remote/remote_stage.h"

namespace tenure {
namespace {

class RemoteCredentials : public RemoteStage {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name) + ".new") << text;
    std::filesystem::rename(file(name) + ".new", file(name));
  }
  void copy(const std::string& from, const std::string& onto) const {
    std::filesystem::copy_file(file(from), file(onto), std::filesystem::copy_options::overwrite_existing);
  }
  std::vector<std::string> warnings() {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  std::function<void(std::string_view)> listener() {
    return [this](std::string_view warning) {
      const std::lock_guard lock(mutex_);
      said_.emplace_back(warning);
    };
  }
  Errc outcome() {
    const auto worker = checkout();
    return worker ? Errc{} : worker.error().code;
  }

  std::mutex mutex_;
  std::vector<std::string> said_;
};

TEST_F(RemoteCredentials, ATokenIsReplaced) {
  write("token", "first\n");
  serve({.token_file = file("token"), .on_warning = listener()});
  to.token_file = file("mine");
  write("mine", "first\nand a second line\n");
  EXPECT_EQ(outcome(), Errc{});
  write("token", "second\n");
  EXPECT_EQ(outcome(), Errc::refused);
  write("mine", "second");
  EXPECT_EQ(outcome(), Errc{});
  // The file is empty for a moment because it is written in place: the last token stays valid. That is reported once.
  for (const std::string& unfit : {std::string(), std::string("\n"), std::string(2000, 'x')}) {
    write("token", unfit);
    EXPECT_EQ(outcome(), Errc{});
  }
  ASSERT_EQ(warnings().size(), 1U);
  EXPECT_NE(warnings()[0].find(file("token")), std::string::npos);
  EXPECT_EQ(warnings()[0].find("second"), std::string::npos);
  write("token", "third\n");
  EXPECT_EQ(outcome(), Errc::refused);
  std::filesystem::remove(file("mine"));
  EXPECT_EQ(outcome(), Errc::invalid);
}

TEST_F(RemoteCredentials, WhatIsOfNoUseIsSaidAtOpening) {
  const auto open = [this](ServeOptions options) {
    options.listen = "unix:" + file("other.sock");
    const auto made = CheckoutServer::open(pool->ref(), std::move(options));
    return made ? Errc{} : made.error().code;
  };
  EXPECT_EQ(open({.token_file = file("nowhere")}), Errc::invalid);
  write("token", "\n");
  EXPECT_EQ(open({.token_file = file("token")}), Errc::invalid);
  write("token", "a\n");
  EXPECT_EQ(open({.token = "a", .token_file = file("token")}), Errc::invalid);
  EXPECT_EQ(open({.token_file = file("token")}), Errc{});
}

#ifdef TENURE_WITH_TLS
TEST_F(RemoteCredentials, ACertificateIsReplaced) {
  make_certificate("old");
  make_certificate("new");
  copy("old.pem", "server.pem");
  copy("old.key", "server.key");
  serve({.listen = "tcp:127.0.0.1:0",
         .tls_certificate = file("server.pem"),
         .tls_key = file("server.key"),
         .on_warning = listener()});
  to.tls = true;
  to.tls_authorities = file("old.pem");
  auto held = checkout().value();
  // One file of the two, then a file that is none: newcomers are shown the old one.
  copy("new.pem", "server.pem");
  EXPECT_FALSE(remote_checkout_stats(to).value().empty());
  EXPECT_FALSE(remote_checkout_stats(to).value().empty());
  ASSERT_EQ(warnings().size(), 1U);
  EXPECT_NE(warnings()[0].find(file("server.key")), std::string::npos) << warnings()[0];
  write("server.key", "no key");
  EXPECT_FALSE(remote_checkout_stats(to).value().empty());
  copy("new.key", "server.key");
  EXPECT_EQ(remote_checkout_stats(to).error().code, Errc::refused);
  to.tls_authorities = file("new.pem");
  EXPECT_FALSE(remote_checkout_stats(to).value().empty());
  EXPECT_EQ(held.call("still mine").value(), "still mine");
}
#endif

}  // namespace
}  // namespace tenure
