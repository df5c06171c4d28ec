#include "net/tls_wire.h"

#ifdef TENURE_WITH_TLS
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <csignal>
#include <ctime>

#include "net/tls_files.h"
#endif

namespace tenure::net {

#ifdef TENURE_WITH_TLS

namespace {

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslPtr = std::unique_ptr<SSL, FreeSsl>;

// OpenSSL writes without MSG_NOSIGNAL. A closed connection must not kill the program that uses this library. So SIGPIPE
// is blocked, and discarded if it came.
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

class TlsWire final : public Wire {
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
  unsigned wait(unsigned wanted, Time deadline) override {
    if ((wanted & kReadable) != 0 && SSL_pending(ssl_.get()) > 0) return kReadable;
    const unsigned needed =
        ((wanted & kReadable) != 0 ? read_wants_ : 0) | ((wanted & kWritable) != 0 ? write_wants_ : 0);
    // Either may have become possible. The caller may try both.
    return SocketWire(socket_).wait(needed, deadline) == 0 ? 0 : wanted;
  }
  int descriptor() const override { return socket_; }

  Status shake_hands(Time deadline) {
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
      if (SocketWire(socket_).wait(wants, deadline) == 0) return fail(Errc::timed_out, "TLS", "no handshake");
    }
  }

 private:
  // Whether the connection ended during the handshake.
  static bool is_end(int error) {
    return error == SSL_ERROR_SYSCALL || error == SSL_ERROR_ZERO_RETURN ||
           (error == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING);
  }
  std::string why() const {
    const long verified = SSL_get_verify_result(ssl_.get());
    if (verified != X509_V_OK) return X509_verify_cert_error_string(verified);
    return take_tls_error();
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
  bool whole_ = false;  // a close_notify may be sent
};

class OpenSslContext final : public TlsContext {
 public:
  explicit OpenSslContext(bool server) : server_(server), context_(SSL_CTX_new(TLS_method())) {
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_mode(context_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(context_.get(), SSL_OP_NO_RENEGOTIATION);
  }

  SSL_CTX& handle() { return *context_; }

  Result<std::unique_ptr<Wire>> open(int socket, const std::string& host, Time deadline) override {
    SslPtr ssl(SSL_new(context_.get()));
    if (!ssl || SSL_set_fd(ssl.get(), socket) != 1) return fail(Errc::refused, "TLS", take_tls_error());
    if (server_) {
      SSL_set_accept_state(ssl.get());
    } else {
      SSL_set_connect_state(ssl.get());
      expect_host(*ssl, host, true);
    }
    auto wire = std::make_unique<TlsWire>(std::move(ssl), socket);
    if (Status shaken = wire->shake_hands(deadline); !shaken) return Failure(shaken.error());
    return std::unique_ptr<Wire>(std::move(wire));
  }

 private:
  const bool server_;
  const std::unique_ptr<SSL_CTX, FreeContext> context_;
};

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::server(const std::string& certificate, const std::string& key) {
  auto made = std::make_shared<OpenSslContext>(true);
  if (Status loaded = load_certificate(made->handle(), certificate, key); !loaded) return Failure(loaded.error());
  return std::shared_ptr<TlsContext>(std::move(made));
}

Result<std::shared_ptr<TlsContext>> TlsContext::client(const std::string& authorities) {
  auto made = std::make_shared<OpenSslContext>(false);
  SSL_CTX_set_verify(&made->handle(), SSL_VERIFY_PEER, nullptr);
  if (Status loaded = load_authorities(made->handle(), authorities); !loaded) return Failure(loaded.error());
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

}  // namespace tenure::net
