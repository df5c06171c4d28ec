#include "remote/credentials.h"

#include <sys/stat.h>

#include "base/secret_file.h"
#include "remote/words.h"

namespace tenure::remote {
namespace {

constexpr time_t kSettledAfterSeconds = 2;

bool same_time(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

Failure no_token(const std::string& file) { return fail(Errc::invalid, "read " + file, "the file has no token"); }

bool is_token(const std::optional<SecretFile>& found) { return found && found->secret.size() <= kTokenBytesMax; }

}  // namespace

Credentials::Stamp Credentials::Stamp::of(const std::string& path) {
  Stamp stamp{.path = path};
  struct stat facts{};
  timespec now{};
  if (::stat(path.c_str(), &facts) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0) return stamp;
  stamp.device = facts.st_dev;
  stamp.inode = facts.st_ino;
  stamp.size = facts.st_size;
  stamp.modified = facts.st_mtim;
  stamp.changed = facts.st_ctim;
  stamp.settled = now.tv_sec - facts.st_ctim.tv_sec > kSettledAfterSeconds;
  return stamp;
}

bool Credentials::Stamp::same_file(const Stamp& other) const {
  return device == other.device && inode == other.inode && size == other.size && same_time(modified, other.modified) &&
         same_time(changed, other.changed);
}

Credentials::Credentials(const ServeOptions& options)
    : certificate_(options.tls_certificate),
      key_(options.tls_key),
      on_warning_(options.on_warning),
      token_(options.token) {}

Result<std::unique_ptr<Credentials>> Credentials::open(const ServeOptions& options) {
  std::unique_ptr<Credentials> made(new Credentials(options));
  if (!options.token_file.empty()) {
    if (Status loaded = made->load_token(options.token_file); !loaded) return Failure(loaded.error());
  }
  made->with_token_ = !made->token_.empty();
  if (made->with_tls()) {
    const std::lock_guard lock(made->mutex_);
    if (Status loaded = made->load_tls(); !loaded) return Failure(loaded.error());
  }
  return made;
}

Status Credentials::load_token(const std::string& file) {
  auto found = read_secret_file(file, PipeSecret::wait);
  if (!is_token(found)) return no_token(file);
  if (found->plain) token_file_ = file;
  token_ = std::move(found->secret);
  return {};
}

std::string Credentials::token() {
  if (token_file_.empty()) {
    const std::lock_guard lock(mutex_);
    return token_;
  }
  auto found = read_secret_file(token_file_, PipeSecret::skip);
  const std::lock_guard lock(mutex_);
  if (is_token(found)) {
    token_ = std::move(found->secret);
    token_trouble_.clear();
  } else {
    warn(token_file_ + ": the file has no token; the previous one stays valid", token_trouble_);
  }
  return token_;
}

std::shared_ptr<net::TlsContext> Credentials::tls() {
  if (!with_tls()) return nullptr;
  const std::lock_guard lock(mutex_);
  bool changed = false;
  for (const Stamp& read : stamps_) changed = changed || !read.settled || !read.same_file(Stamp::of(read.path));
  if (!changed) return tls_;
  if (const Status loaded = load_tls(); !loaded) {
    warn(loaded.error().message() + "; the previous certificate and key stay in use", tls_trouble_);
  } else {
    tls_trouble_.clear();
  }
  return tls_;
}

// The stamps are older than the content, so a change during the read is read again for the next newcomer.
Status Credentials::load_tls() {
  stamps_ = {Stamp::of(certificate_), Stamp::of(key_)};
  auto made = net::TlsContext::server(certificate_, key_);
  if (!made) return Failure(made.error());
  tls_ = *std::move(made);
  return {};
}

void Credentials::warn(const std::string& trouble, std::string& said) const {
  if (trouble == said) return;
  said = trouble;
  if (on_warning_) on_warning_(trouble);
}

Result<std::string> token_of(const RemoteOptions& options) {
  if (options.token_file.empty()) {
    if (options.token.size() > kTokenBytesMax) return fail(Errc::invalid, "checkout", "the token is too long");
    return options.token;
  }
  auto found = read_secret_file(options.token_file, PipeSecret::wait);
  if (!is_token(found)) return no_token(options.token_file);
  return std::move(found->secret);
}

}  // namespace tenure::remote
