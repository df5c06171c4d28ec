#pragma once

// Checkout from another process or host. A CheckoutServer serves a pool of child processes on a socket, and clients
// check workers out. The lease is the connection: when the connection ends, for any reason, the worker goes back to the
// pool. A worker that still owes an answer is killed and replaced.
//
//     auto server = tenure::CheckoutServer::open(pool, {.listen = "unix:/run/python.sock"});
//
//     auto worker = tenure::RemoteWorker::checkout({.address = "unix:/run/python.sock"});
//     auto answer = worker->call("2 + 3", std::chrono::seconds(1));
//
// An address is unix:PATH or tcp:HOST:PORT. A TCP address other than the loopback requires TLS and a token on both
// sides.
//
// Both ends notice within twelve seconds when the other host disappears silently (a cut cable, say), whether or not a
// request is outstanding. They cannot notice a frozen process this way, because its kernel still answers. A call to a
// frozen server ends by its timeout. A frozen client loses its lease by ServeOptions::max_idle or max_hold.

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
  std::string listen{};           // with TCP port 0 the system chooses one; see CheckoutServer::address()
  std::string token{};            // clients must send it; empty: no token needed
  std::string token_file{};       // its first line is the token
  std::string tls_certificate{};  // PEM files; if set, TCP connections use TLS
  std::string tls_key{};
  std::size_t frame_bytes_max = std::size_t{16} << 20;
  std::size_t connections_max = 1024;     // authenticated clients; further ones get Errc::busy
  std::chrono::milliseconds max_hold{0};  // ends leases that last longer; zero: no limit
  std::chrono::milliseconds max_idle{0};  // ends leases whose client sends no request for this long; zero: no limit
  std::chrono::milliseconds hello_timeout{5'000};  // for a newcomer to authenticate, then for its first request
  // The limit for newcomers: connections that have not authenticated yet. They do not count as clients. At the limit,
  // the server closes one newcomer for each new connection: the oldest of the host that has the most.
  std::size_t newcomers_max = 256;
  // The server reads the token file, certificate and key again for each new connection, so you can replace them while
  // it runs. If a file is unusable, the server keeps the previous contents and calls this, on any thread.
  std::function<void(std::string_view)> on_warning{};
};

// Serves a pool until it is destroyed; its leases then end. The pool must outlive it. Thread-safe.
class CheckoutServer {
 public:
  // Starts serving. Errc::invalid: invalid options, or an address that requires TLS and a token. Errc::unavailable: the
  // server cannot listen on the address. Errc::refused: the certificate or the key is unusable.
  static Result<std::unique_ptr<CheckoutServer>> open(CheckoutRef<ProcessWorker> pool, ServeOptions options);
  ~CheckoutServer();
  CheckoutServer(const CheckoutServer&) = delete;
  CheckoutServer& operator=(const CheckoutServer&) = delete;

  // The address for clients to use.
  std::string address() const;
  std::size_t connections() const;  // authenticated clients

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

// A lease on a worker of a served pool. Not thread-safe: use it from one thread at a time. Move-only. Destroying it is
// the checkin.
class RemoteWorker {
 public:
  using Timeout = std::chrono::nanoseconds;
  static constexpr Timeout kDefaultTimeout = std::chrono::seconds(30);

  // Connects and checks a worker out. Errc::overloaded, Errc::timed_out and Errc::pool_down: see
  // CheckoutRef::checkout(). Errc::unavailable: no server at the address. Errc::busy: the server has too many clients.
  // Errc::refused: wrong token or untrusted certificate. Errc::invalid: malformed address, or one that requires TLS and
  // a token.
  static Result<RemoteWorker> checkout(const RemoteOptions& options, Timeout timeout = std::chrono::seconds(5),
                                       bool force_enqueue = false);
  RemoteWorker(RemoteWorker&&) noexcept;
  RemoteWorker& operator=(RemoteWorker&&) noexcept;
  ~RemoteWorker();

  // The same as ProcessWorker's. After any error except Errc::job_failed, Errc::invalid and Errc::busy the worker is
  // gone.
  Result<std::string> call(std::string_view request, Timeout timeout = kDefaultTimeout);
  Status call_streaming(std::string_view request, const std::function<void(std::string_view)>& take,
                        Timeout timeout = kDefaultTimeout);
  Status send(std::string_view request, bool more = false, Timeout timeout = kDefaultTimeout);
  Result<ProcessAnswer> receive(Timeout timeout = kDefaultTimeout);
  void checkin();
  // The worker's process id on the server's host.
  std::int64_t process_id() const;

 private:
  friend Result<std::string> remote_checkout_stats(const RemoteOptions& options);
  class Body;
  explicit RemoteWorker(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

// Returns the state and the counters of the served pool as a JSON object.
Result<std::string> remote_checkout_stats(const RemoteOptions& options);

}  // namespace tenure
