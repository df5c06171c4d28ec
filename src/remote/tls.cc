#include "remote/tls.h"

#ifdef TENURE_WITH_TLS
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <csignal>
#include <ctime>
#endif

namespace tenure::remote {

bool same_secret(BytesView one, BytesView other) {
  unsigned char differs = one.size() == other.size() ? 0 : 1;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const char against = other.empty() ? '\0' : other[i % other.size()];
    differs = static_cast<unsigned char>(differs | (one[i] ^ against));
  }
  return differs == 0;
}

#ifdef TENURE_WITH_TLS

namespace {

std::string tls_error() {
  std::string text = "TLS failed";
  const unsigned long code = ERR_peek_last_error();
  if (const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code)) text = reason;
  ERR_clear_error();
  return text;
}

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslPtr = std::unique_ptr<SSL, FreeSsl>;

// OpenSSL writes without MSG_NOSIGNAL. A connection that was closed must not end a program that does not know of us:
// the signal, if it comes, is taken back.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec now{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

class TlsWire final : public process::Wire {
 public:
  TlsWire(SslPtr ssl, int socket) : ssl_(std::move(ssl)), socket_(socket) {}
  ~TlsWire() override {
    const NoPipeSignal quiet;
    if (whole_) SSL_shutdown(ssl_.get());
  }

  ssize_t send_some(BytesView bytes) override {
    std::size_t sent = 0;
    const NoPipeSignal quiet;
    ERR_clear_error();
    const int done = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent);
    return outcome(done, sent, write_wants_);
  }
  ssize_t receive_some(char* into, std::size_t room) override {
    std::size_t got = 0;
    ERR_clear_error();
    const int done = SSL_read_ex(ssl_.get(), into, room, &got);
    return outcome(done, got, read_wants_);
  }
  unsigned wait(unsigned wanted, process::Time deadline) override {
    if ((wanted & kReadable) != 0 && SSL_pending(ssl_.get()) > 0) return kReadable;
    const unsigned needed =
        ((wanted & kReadable) != 0 ? read_wants_ : 0) | ((wanted & kWritable) != 0 ? write_wants_ : 0);
    // Whichever of the two it was that became possible: both may be tried.
    return process::SocketWire(socket_).wait(needed, deadline) == 0 ? 0 : wanted;
  }
  int descriptor() const override { return socket_; }

  Status shake_hands(process::Time deadline) {
    const NoPipeSignal quiet;
    for (;;) {
      ERR_clear_error();
      const int done = SSL_do_handshake(ssl_.get());
      if (done == 1) {
        whole_ = true;
        return {};
      }
      const int error = SSL_get_error(ssl_.get(), done);
      if (is_end(error)) return fail(Errc::closed, "TLS", "the other side has closed");
      if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return fail(Errc::refused, "TLS", why());
      const unsigned wants = error == SSL_ERROR_WANT_READ ? kReadable : kWritable;
      if (process::SocketWire(socket_).wait(wants, deadline) == 0) return fail(Errc::timed_out, "TLS", "no handshake");
    }
  }

 private:
  // That of the connection, in the midst of a handshake.
  static bool is_end(int error) {
    return error == SSL_ERROR_SYSCALL || error == SSL_ERROR_ZERO_RETURN ||
           (error == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING);
  }
  std::string why() const {
    const long verified = SSL_get_verify_result(ssl_.get());
    if (verified != X509_V_OK) return X509_verify_cert_error_string(verified);
    return tls_error();
  }
  ssize_t outcome(int done, std::size_t size, unsigned& wants) {
    if (done == 1) return static_cast<ssize_t>(size);
    const int error = SSL_get_error(ssl_.get(), done);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
      wants = error == SSL_ERROR_WANT_READ ? kReadable : kWritable;
      return kLater;
    }
    whole_ = error == SSL_ERROR_ZERO_RETURN;
    return error == SSL_ERROR_ZERO_RETURN ? 0 : kBroken;
  }

  const SslPtr ssl_;
  const int socket_;
  unsigned read_wants_ = kReadable;
  unsigned write_wants_ = kWritable;
  bool whole_ = false;  // a farewell may be sent
};

class OpenSslContext final : public TlsContext {
 public:
  explicit OpenSslContext(bool server) : server_(server), context_(SSL_CTX_new(TLS_method())) {
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_mode(context_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(context_.get(), SSL_OP_NO_RENEGOTIATION);
  }

  Status load_key(const std::string& certificate, const std::string& key) {
    if (SSL_CTX_use_certificate_chain_file(context_.get(), certificate.c_str()) != 1) return bad(certificate);
    if (SSL_CTX_use_PrivateKey_file(context_.get(), key.c_str(), SSL_FILETYPE_PEM) != 1) return bad(key);
    return {};
  }
  Status load_authorities(const std::string& file) {
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    if (file.empty()) {
      if (SSL_CTX_set_default_verify_paths(context_.get()) != 1) return bad("the system's authorities");
    } else if (SSL_CTX_load_verify_locations(context_.get(), file.c_str(), nullptr) != 1) {
      return bad(file);
    }
    return {};
  }

  Result<std::unique_ptr<process::Wire>> open(int socket, const std::string& host, process::Time deadline) override {
    SslPtr ssl(SSL_new(context_.get()));
    if (!ssl || SSL_set_fd(ssl.get(), socket) != 1) return fail(Errc::refused, "TLS", tls_error());
    if (server_) {
      SSL_set_accept_state(ssl.get());
    } else {
      expect(ssl.get(), host);
    }
    auto wire = std::make_unique<TlsWire>(std::move(ssl), socket);
    if (Status shaken = wire->shake_hands(deadline); !shaken) return Failure(shaken.error());
    return std::unique_ptr<process::Wire>(std::move(wire));
  }

 private:
  static Status bad(const std::string& what) { return fail(Errc::refused, "TLS: " + what, tls_error()); }

  static void expect(SSL* ssl, const std::string& host) {
    SSL_set_connect_state(ssl);
    in6_addr number{};
    const bool numeric =
        inet_pton(AF_INET, host.c_str(), &number) == 1 || inet_pton(AF_INET6, host.c_str(), &number) == 1;
    if (numeric) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str());
    } else {
      SSL_set1_host(ssl, host.c_str());
      // What SSL_set_tlsext_host_name() is, without its cast.
      SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, const_cast<char*>(host.c_str()));
    }
  }

  const bool server_;
  const std::unique_ptr<SSL_CTX, FreeContext> context_;
};

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::server(const std::string& certificate, const std::string& key) {
  auto made = std::make_shared<OpenSslContext>(true);
  if (Status loaded = made->load_key(certificate, key); !loaded) return Failure(loaded.error());
  return std::shared_ptr<TlsContext>(std::move(made));
}

Result<std::shared_ptr<TlsContext>> TlsContext::client(const std::string& authorities) {
  auto made = std::make_shared<OpenSslContext>(false);
  if (Status loaded = made->load_authorities(authorities); !loaded) return Failure(loaded.error());
  return std::shared_ptr<TlsContext>(std::move(made));
}

#else

Result<std::shared_ptr<TlsContext>> TlsContext::server(const std::string& /*certificate*/, const std::string& /*key*/) {
  return fail(Errc::invalid, "TLS", "this was built without it");
}

Result<std::shared_ptr<TlsContext>> TlsContext::client(const std::string& /*authorities*/) {
  return fail(Errc::invalid, "TLS", "this was built without it");
}

#endif

}  // namespace tenure::remote
