// Listens, and passes connections to the reception.

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

#include "net/place.h"
#include "remote/credentials.h"
#include "remote/reception.h"
#include "remote/words.h"

namespace tenure {

class CheckoutServer::Body {
 public:
  Body(CheckoutRef<ProcessWorker> pool, ServeOptions options, net::Listening listening,
       std::unique_ptr<remote::Credentials> credentials, bool unix_socket)
      : listening_(std::move(listening)),
        unix_socket_(unix_socket),
        stop_(eventfd(0, EFD_CLOEXEC)),
        reception_(std::move(pool), std::move(options), std::move(credentials), unix_socket) {
    thread_ = std::thread([this] { accept_all(); });
    pthread_setname_np(thread_.native_handle(), "tenure-serve");
  }

  ~Body() {
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    thread_.join();
    if (unix_socket_) ::unlink(listening_.address.c_str() + 5);
  }

  const std::string& address() const { return listening_.address; }
  std::size_t clients() { return reception_.clients(); }

 private:
  void accept_all() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    for (;;) {
      std::array<pollfd, 3> waited{
          {{stop_.get(), POLLIN, 0}, {listening_.socket.get(), POLLIN, 0}, {reception_.bell(), POLLIN, 0}}};
      ::poll(waited.data(), waited.size(), -1);
      if (waited[0].revents != 0) return;
      if (waited[2].revents != 0) reception_.forget_gone();
      if (waited[1].revents == 0) continue;
      Descriptor socket(::accept4(listening_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) {
        // For example, no descriptors are left. Waiting connections keep waiting, and this thread does not spin.
        ::poll(waited.data(), 1, 20);
        continue;
      }
      reception_.welcome(std::move(socket));
    }
  }

  const net::Listening listening_;
  const bool unix_socket_;
  const Descriptor stop_;
  remote::Reception reception_;
  std::thread thread_;
};

namespace {

Status check_serve_options(const ServeOptions& options) {
  const auto wrong = [](const char* what) { return fail(Errc::invalid, "serve", what); };
  if (options.token.size() > remote::kTokenBytesMax) return wrong("the token is too long");
  if (!options.token.empty() && !options.token_file.empty())
    return wrong("a token and a token_file exclude each other");
  if (options.tls_certificate.empty() != options.tls_key.empty()) return wrong("TLS needs a certificate and its key");
  if (options.frame_bytes_max == 0 || options.frame_bytes_max > ProcessOptions::kFrameBytesMax) {
    return wrong("frame_bytes_max must lie between 1 and 2^30");
  }
  if (options.connections_max == 0 || options.newcomers_max == 0) {
    return wrong("connections_max and newcomers_max must be at least 1");
  }
  if (options.max_hold.count() < 0 || options.max_idle.count() < 0 || options.hello_timeout.count() <= 0)
    return wrong("a time is not positive");
  return {};
}

}  // namespace

Result<std::unique_ptr<CheckoutServer>> CheckoutServer::open(CheckoutRef<ProcessWorker> pool, ServeOptions options) {
  if (Status checked = check_serve_options(options); !checked) return Failure(checked.error());
  const auto place = net::read_place(options.listen);
  if (!place) return Failure(place.error());
  auto credentials = remote::Credentials::open(options);
  if (!credentials) return Failure(credentials.error());
  auto listening = net::listen_at(*place);
  if (!listening) return Failure(listening.error());
  if (listening->off_host && (!(*credentials)->with_tls() || !(*credentials)->with_token())) {
    return fail(Errc::invalid, "serve",
                options.listen + " can be reached from other hosts: TLS and a token are needed");
  }
  return std::unique_ptr<CheckoutServer>(new CheckoutServer(std::make_unique<Body>(
      std::move(pool), std::move(options), *std::move(listening), *std::move(credentials), place->unix_socket)));
}

CheckoutServer::CheckoutServer(std::unique_ptr<Body> body) : body_(std::move(body)) {}
CheckoutServer::~CheckoutServer() = default;

std::string CheckoutServer::address() const { return body_->address(); }
std::size_t CheckoutServer::connections() const { return body_->clients(); }

}  // namespace tenure
