#pragma once

// Checkout from another process or host. A pool of child processes is served on a socket, and whoever connects may
// check a worker out. The lease is the connection: when it ends, in whatever way, the worker goes back to the pool, or,
// if it owes an answer, is killed and replaced.
//
//     auto server = tenure::CheckoutServer::open(pool, {.listen = "unix:/run/python.sock"});
//
//     auto worker = tenure::RemoteWorker::checkout({.address = "unix:/run/python.sock"});
//     auto answer = worker->call("2 + 3", std::chrono::seconds(1));
//
// An address is unix:PATH or tcp:HOST:PORT. A TCP address that is not of this host alone wants TLS and a token, on both
// sides.
//
// A host that is gone without a word, by a cut cable say, is noticed within twelve seconds on both ends, whether or not
// something is under way. A process that is frozen is not: its host answers for it. A call to a server that is frozen
// ends by its timeout, and a client that is frozen loses its lease by ServeOptions::max_idle or max_hold.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tenure/checkout_process.hpp>
#include <tenure/result.hpp>

namespace tenure {

struct ServeOptions {
  std::string listen{};           // a TCP port of 0 is chosen by the system; see CheckoutServer::address()
  std::string token{};            // which clients must know; empty: none is asked for
  std::string token_file{};       // its first line is the token
  std::string tls_certificate{};  // files, PEM; with these, TCP connections are TLS
  std::string tls_key{};
  std::size_t frame_bytes_max = std::size_t{16} << 20;
  std::size_t connections_max = 1024;     // of clients, who have said who they are; further ones are told `busy`
  std::chrono::milliseconds max_hold{0};  // a lease that lasts longer is ended; zero: as long as it likes
  std::chrono::milliseconds max_idle{0};  // one whose client asks nothing for so long is ended; zero: none
  std::chrono::milliseconds hello_timeout{5'000};  // for a newcomer to say who it is; for a client, what it wants
  // Connections that have not said who they are. They take no client's room: where there are so many, the oldest of the
  // host that has the most of them is closed for the next.
  std::size_t newcomers_max = 256;
  // Token file, certificate and key are read again for each newcomer, so that they can be replaced. Told, by any
  // thread, when one of them is of no use then and the one that was read before stays in use.
  std::function<void(std::string_view)> on_warning{};
};

// Serves until it is destroyed: leases that are out are then ended. The pool must outlive it.
class CheckoutServer {
 public:
  // Errc::invalid: options that make no sense, or an address that wants TLS and a token. Errc::unavailable: it cannot
  // listen there; Errc::refused: certificate or key are of no use.
  static Result<std::unique_ptr<CheckoutServer>> open(CheckoutRef<ProcessWorker> pool, ServeOptions options);
  ~CheckoutServer();
  CheckoutServer(const CheckoutServer&) = delete;
  CheckoutServer& operator=(const CheckoutServer&) = delete;

  // As a client names it.
  std::string address() const;
  std::size_t connections() const;  // of clients

 private:
  class Body;
  explicit CheckoutServer(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

struct RemoteOptions {
  std::string address{};
  std::string token{};
  std::string token_file{};  // its first line is the token; read for each checkout
  bool tls = false;
  std::string tls_authorities{};  // a file, PEM; empty: the system's
  std::size_t frame_bytes_max = std::size_t{16} << 20;
  std::chrono::milliseconds connect_timeout{10'000};
};

// A worker that is somewhere else. Move-only; one thread at a time. Letting it go is the checkin.
class RemoteWorker {
 public:
  using Timeout = std::chrono::nanoseconds;
  static constexpr Timeout kDefaultTimeout = std::chrono::seconds(30);

  // Errc::overloaded, Errc::timed_out and Errc::pool_down as of a checkout; Errc::unavailable: nobody serves there;
  // Errc::refused: the token or the certificate is not right; Errc::invalid: the address is none, or wants TLS and a
  // token.
  static Result<RemoteWorker> checkout(const RemoteOptions& options, Timeout timeout = std::chrono::seconds(5),
                                       bool force_enqueue = false);
  RemoteWorker(RemoteWorker&&) noexcept;
  RemoteWorker& operator=(RemoteWorker&&) noexcept;
  ~RemoteWorker();

  // As ProcessWorker's. After an error other than Errc::job_failed and Errc::invalid the worker is gone.
  Result<std::string> call(std::string_view request, Timeout timeout = kDefaultTimeout);
  Status call_streaming(std::string_view request, const std::function<void(std::string_view)>& take,
                        Timeout timeout = kDefaultTimeout);
  Status send(std::string_view request, bool more = false, Timeout timeout = kDefaultTimeout);
  Result<ProcessAnswer> receive(Timeout timeout = kDefaultTimeout);
  void checkin();
  // On the host that serves.
  std::int64_t process_id() const;

 private:
  friend Result<std::string> remote_checkout_stats(const RemoteOptions& options);
  class Body;
  explicit RemoteWorker(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

// The state and the counters of the pool that is served, as a JSON object.
Result<std::string> remote_checkout_stats(const RemoteOptions& options);

}  // namespace tenure
