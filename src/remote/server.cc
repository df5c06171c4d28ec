// Listens, and has a thread for each connection.

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <list>
#include <mutex>
#include <thread>

#include "remote/address.h"
#include "remote/session.h"
#include "remote/words.h"

namespace tenure {

using remote::Session;

class CheckoutServer::Body {
 public:
  Body(CheckoutRef<ProcessWorker> pool, ServeOptions options, remote::Listening listening,
       std::shared_ptr<remote::TlsContext> tls, bool unix_socket)
      : pool_(std::move(pool)),
        options_(std::move(options)),
        listening_(std::move(listening)),
        tls_(std::move(tls)),
        unix_socket_(unix_socket),
        stop_(eventfd(0, EFD_CLOEXEC)) {
    thread_ = std::thread([this] { accept_all(); });
    pthread_setname_np(thread_.native_handle(), "tenure-serve");
  }

  ~Body() {
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    thread_.join();
    {
      const std::lock_guard lock(mutex_);
      for (Guest& guest : guests_) guest.session.end();
    }
    for (Guest& guest : guests_) guest.thread.join();
    if (unix_socket_) ::unlink(listening_.address.c_str() + 5);
  }

  const std::string& address() const { return listening_.address; }
  std::size_t connections() {
    const std::lock_guard lock(mutex_);
    return count_open();
  }

 private:
  std::size_t count_open() const {
    std::size_t open = 0;
    for (const Guest& guest : guests_) open += guest.gone || guest.turned_away ? 0 : 1;
    return open;
  }

  struct Guest {
    Guest(exec::Descriptor socket, const CheckoutRef<ProcessWorker>& pool, const ServeOptions& options,
          std::shared_ptr<remote::TlsContext> tls)
        : session(std::move(socket), pool, options, std::move(tls)) {}
    Session session;
    bool turned_away = false;
    std::thread thread;
    std::atomic<bool> gone{false};
  };

  void accept_all() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    for (;;) {
      std::array<pollfd, 2> waited{{{stop_.get(), POLLIN, 0}, {listening_.socket.get(), POLLIN, 0}}};
      ::poll(waited.data(), waited.size(), -1);
      if (waited[0].revents != 0) return;
      forget_gone();
      exec::Descriptor socket(::accept4(listening_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) {
        // Out of descriptors, say: those who wait go on waiting, and this thread does not spin.
        ::poll(waited.data(), 1, 20);
        continue;
      }
      welcome(std::move(socket));
    }
  }

  void welcome(exec::Descriptor socket) {
    const std::lock_guard lock(mutex_);
    const bool full = count_open() >= options_.connections_max;
    if (guests_.size() >= options_.connections_max + kTurnedAwayMax) return;  // closed without a word
    Guest& guest = guests_.emplace_back(std::move(socket), pool_, options_, unix_socket_ ? nullptr : tls_);
    guest.turned_away = full;
    try {
      guest.thread = std::thread([&guest, full] {
        pthread_setname_np(pthread_self(), "tenure-guest");
        full ? guest.session.turn_away() : guest.session.run();
        guest.session.end();
        guest.gone = true;
      });
    } catch (const std::system_error&) {
      guests_.pop_back();
    }
  }

  void forget_gone() {
    const std::lock_guard lock(mutex_);
    for (auto guest = guests_.begin(); guest != guests_.end();) {
      if (!guest->gone) {
        ++guest;
        continue;
      }
      guest->thread.join();
      guest = guests_.erase(guest);
    }
  }

  static constexpr std::size_t kTurnedAwayMax = 64;

  const CheckoutRef<ProcessWorker> pool_;
  const ServeOptions options_;
  const remote::Listening listening_;
  const std::shared_ptr<remote::TlsContext> tls_;
  const bool unix_socket_;
  const exec::Descriptor stop_;
  std::mutex mutex_;
  std::list<Guest> guests_;  // guarded by mutex_
  std::thread thread_;
};

namespace {

Status check_serve_options(const ServeOptions& options) {
  const auto wrong = [](const char* what) { return fail(Errc::invalid, "serve", what); };
  if (options.token.size() > remote::kTokenBytesMax) return wrong("the token is too long");
  if (options.tls_certificate.empty() != options.tls_key.empty()) return wrong("TLS wants a certificate and its key");
  if (options.frame_bytes_max == 0 || options.frame_bytes_max > ProcessOptions::kFrameBytesMax) {
    return wrong("frame_bytes_max must lie between 1 and 2^30");
  }
  if (options.connections_max == 0) return wrong("connections_max must be at least 1");
  if (options.max_hold.count() < 0 || options.max_idle.count() < 0 || options.hello_timeout.count() <= 0)
    return wrong("a time is not positive");
  return {};
}

}  // namespace

Result<std::unique_ptr<CheckoutServer>> CheckoutServer::open(CheckoutRef<ProcessWorker> pool, ServeOptions options) {
  if (Status checked = check_serve_options(options); !checked) return Failure(checked.error());
  const auto place = remote::read_place(options.listen);
  if (!place) return Failure(place.error());
  std::shared_ptr<remote::TlsContext> tls;
  if (!options.tls_certificate.empty()) {
    auto made = remote::TlsContext::server(options.tls_certificate, options.tls_key);
    if (!made) return Failure(made.error());
    tls = *std::move(made);
  }
  auto listening = remote::listen_at(*place);
  if (!listening) return Failure(listening.error());
  if (listening->off_host && (!tls || options.token.empty())) {
    return fail(Errc::invalid, "serve", options.listen + " can be reached from elsewhere: TLS and a token are needed");
  }
  return std::unique_ptr<CheckoutServer>(new CheckoutServer(std::make_unique<Body>(
      std::move(pool), std::move(options), *std::move(listening), std::move(tls), place->unix_socket)));
}

CheckoutServer::CheckoutServer(std::unique_ptr<Body> body) : body_(std::move(body)) {}
CheckoutServer::~CheckoutServer() = default;

std::string CheckoutServer::address() const { return body_->address(); }
std::size_t CheckoutServer::connections() const { return body_->connections(); }

}  // namespace tenure
