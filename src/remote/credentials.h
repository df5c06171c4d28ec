#pragma once

// A server's certificate, and the token that it demands from clients. The files are read again for each newcomer, so
// that they can be replaced while the server runs. If a file is unusable, the previous content stays in use, with one
// message.

#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <tenure/checkout_remote.hpp>
#include <vector>

#include "base/result.h"
#include "net/tls_wire.h"

namespace tenure::remote {

// Thread-safe.
class Credentials {
 public:
  // Errc::invalid and Errc::refused name the unusable file.
  static Result<std::unique_ptr<Credentials>> open(const ServeOptions& options);

  bool with_tls() const { return !certificate_.empty(); }
  bool with_token() const { return with_token_; }
  // The current token. Empty: clients need none.
  std::string token();
  std::shared_ptr<net::TlsContext> tls();

 private:
  // Identifies the version of a file that was read.
  struct Stamp {
    std::string path{};
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec modified{};
    timespec changed{};
    // Two changes within one tick of the file system's clock look the same.
    bool settled = false;

    static Stamp of(const std::string& path);
    bool same_file(const Stamp& other) const;
  };

  explicit Credentials(const ServeOptions& options);
  Status load_token(const std::string& file);
  Status load_tls();
  void warn(const std::string& trouble, std::string& said) const;

  const std::string certificate_;
  const std::string key_;
  const std::function<void(std::string_view)> on_warning_;
  // Both constant once open.
  std::string token_file_;
  bool with_token_ = false;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::string token_;
  std::shared_ptr<net::TlsContext> tls_;
  std::vector<Stamp> stamps_;  // of certificate and key
  std::string token_trouble_;  // the last message
  std::string tls_trouble_;
};

// The client's current token.
Result<std::string> token_of(const RemoteOptions& options);

}  // namespace tenure::remote
