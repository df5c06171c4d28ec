#pragma once

// All I/O of one client, with sockets by Boost.Asio and TLS by OpenSSL. It happens in turns (turns.h), most of them on
// the thread that waits at the sockets (socket_threads.h). Only reactor.cc includes Asio, which takes seconds to
// compile.

#include <memory>
#include <string>

#include "base/loop.h"
#include "net/transport.h"

namespace tenure::net {

// Any thread may call post(), run_or_post() and close(). The rest belongs to the thread that has the turn.
class Reactor final : public Loop, public Transport {
 public:
  using Warn = std::function<void(const Error&)>;

  // Fails if a TLS file cannot be read. If one cannot be read again later, `warn` is called in the way of call_after().
  static Result<std::unique_ptr<Reactor>> start(const TlsOptions& tls, const Warn& warn = nullptr);
  ~Reactor() override;
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  void post(std::function<void()> work) override;
  void run_or_post(std::function<void()> work) override;
  TimerId at(Instant when, std::function<void()> work) override;
  void cancel(TimerId timer) override;
  Instant now() const override;

  std::unique_ptr<Stream> connect(const Endpoint& endpoint, StreamEvents& events) override;

  // The thread at the sockets makes the call when the turn is over. The call may take long, or use the client again.
  void call_after(std::function<void()> call);

  // Waits for the running work and destroys the rest unrun. Afterwards there are no events and no timers. Never call it
  // from the thread at the sockets. Idempotent.
  void close();
  bool closed() const;

  struct Body;

 private:
  explicit Reactor(std::unique_ptr<Body> body);

  std::unique_ptr<Body> body_;
};

}  // namespace tenure::net
