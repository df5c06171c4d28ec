#pragma once

// All I/O of one Log, with sockets by Boost.Asio and TLS by OpenSSL. It happens in turns (turns.h), most of them on the
// thread that waits at the sockets (socket_threads.h). The only file that includes Asio is reactor.cc: it takes seconds
// to compile.

#include <memory>
#include <string>

#include "base/loop.h"
#include "net/transport.h"

namespace tenure::net {

// post(), run_or_post() and close() may be called from any thread, all else belongs to whoever has the turn.
class Reactor final : public Loop, public Transport {
 public:
  using Warn = std::function<void(const Error&)>;

  // Fails where files of TLS cannot be read. `warn` is told when they cannot be read again later; it is called as
  // call_after() does.
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

  // Has the thread at the sockets call it when the turn is over: what it calls may take its time, or call the Log.
  void call_after(std::function<void()> call);

  // Waits for the work that is running and destroys the rest unrun. Streams and timers stay silent from here on. Never
  // from the thread at the sockets. Idempotent.
  void close();
  bool closed() const;

  struct Body;

 private:
  explicit Reactor(std::unique_ptr<Body> body);

  std::unique_ptr<Body> body_;
};

}  // namespace tenure::net
