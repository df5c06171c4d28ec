#pragma once

// One client's connection, from its hello to its end. Runs on its own thread. end() may be called from any thread.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <tenure/checkout_remote.hpp>

#include "base/descriptor.h"
#include "net/silence.h"
#include "net/tls_wire.h"
#include "process/channel.h"
#include "remote/credentials.h"

namespace tenure::remote {

class Session {
 public:
  using Pool = CheckoutRef<ProcessWorker>;

  // Checks that there is room for one more client. Called when the client has identified itself.
  using Admit = std::function<Status()>;

  // `secured`: with TLS, if the server has it.
  Session(Descriptor socket, Pool pool, const ServeOptions& options, Credentials& credentials, bool secured,
          Admit admit);

  void run();
  // Makes run() return soon. A lease that is out ends.
  void end() const;

 private:
  using Frame = process::Channel::Frame;

  bool open(net::Time known_by);
  bool greet(net::Time known_by);
  void obey(const Frame& frame);
  void lend(BytesView request);
  // Waits for a worker, or for the client to give up. An empty lease: nothing more to send.
  Result<CheckoutLease<ProcessWorker>> wait_for_worker(std::chrono::nanoseconds patience, bool force);
  bool may_ask(const ProcessWorker& worker) const;
  // Carries frames between client and worker. True if the worker may go back to the pool.
  bool relay(ProcessWorker& worker);
  // Each returns whether to continue.
  bool from_client(ProcessWorker& worker, bool& clean);
  bool hear(const ProcessWorker& worker, bool& clean);
  bool from_worker(ProcessWorker& worker);
  bool overdue() const;
  std::chrono::nanoseconds patience() const;
  bool send(char kind, BytesView bytes);
  void refuse(const Error& error);

  const Descriptor socket_;
  const Pool pool_;
  const ServeOptions& options_;
  Credentials& credentials_;
  const bool secured_;
  const Admit admit_;
  net::Silence silence_;
  std::unique_ptr<net::Wire> wire_;
  std::unique_ptr<process::Channel> channel_;
  net::Time held_until_ = net::Time::max();  // of the lease
  bool moved_ = false;                       // a frame was carried
  std::optional<ProcessAnswer> request_{};   // of the client, not sent to the worker yet
  bool in_parts_ = false;                    // more parts of the last request will come
  std::size_t under_way_bytes_ = 0;          // sent to the worker since it owed nothing
};

// As a JSON object.
std::string stats_of(const CheckoutRef<ProcessWorker>& pool);

}  // namespace tenure::remote
