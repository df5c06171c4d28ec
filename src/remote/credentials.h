#pragma once

// What a server shows of itself and asks of its clients. Its files are read again for each newcomer, so that they can
// be replaced while the server runs. A file that is of no use then leaves in use what was read before; that is said
// once.

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
  // Errc::invalid and Errc::refused say which file is of no use.
  static Result<std::unique_ptr<Credentials>> open(const ServeOptions& options);

  bool with_tls() const { return !certificate_.empty(); }
  bool with_token() const { return with_token_; }
  // As they are now. No token: none is asked for.
  std::string token();
  std::shared_ptr<net::TlsContext> tls();

 private:
  // Which version of a file was read.
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
  std::string token_trouble_;  // what was last said
  std::string tls_trouble_;
};

// A client's, as it is now.
Result<std::string> token_of(const RemoteOptions& options);

}  // namespace tenure::remote
