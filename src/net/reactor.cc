#include "net/reactor.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <unordered_map>

#include "net/client_tls.h"
#include "net/flow.h"
#include "net/resolver.h"
#include "net/socket_threads.h"

namespace tenure::net {
namespace {

std::string name_of(const Endpoint& endpoint) {
  if (!endpoint.socket_path.empty()) return endpoint.socket_path;
  const bool v6 = endpoint.address.host.find(':') != std::string::npos;
  return (v6 ? "[" + endpoint.address.host + "]" : endpoint.address.host) + ":" + std::to_string(endpoint.address.port);
}

}  // namespace

struct Reactor::Body {
  Body(const TlsOptions& options, const Warn& warn)
      : tls(options,
            [this, warn](const Error& error) {
              if (warn) turns->call_after([warn, error] { warn(error); });
            }),
        turns(std::make_shared<Turns>([this] { asio::post(io, [this] { turns->take(); }); }, !options.on)) {}

  const BootClock clock;
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  ClientTls tls;
  // With TLS, Asio touches a connection between our turns, on the thread at the sockets. So no other thread takes
  // turns.
  const std::shared_ptr<Turns> turns;
  std::unordered_map<TimerId, std::unique_ptr<asio::steady_timer>> timers;  // this and below: in turns only
  TimerId last_timer = 0;
  std::once_flag closing;
  const std::shared_ptr<SocketThreads> threads = std::make_shared<SocketThreads>([this] { io.run_one(); });
};

Result<std::unique_ptr<Reactor>> Reactor::start(const TlsOptions& tls, const Warn& warn) {
  auto body = std::make_unique<Body>(tls, warn);
  if (tls.on) {
    if (const Status loaded = body->tls.load(); !loaded) return Failure(loaded.error());
  }
  return std::unique_ptr<Reactor>(new Reactor(std::move(body)));
}

Reactor::Reactor(std::unique_ptr<Body> body) : body_(std::move(body)) { body_->threads->begin(); }

Reactor::~Reactor() { close(); }

void Reactor::post(std::function<void()> work) { body_->turns->post(std::move(work)); }

void Reactor::run_or_post(std::function<void()> work) { body_->turns->run_or_post(std::move(work)); }

void Reactor::call_after(std::function<void()> call) { body_->turns->call_after(std::move(call)); }

bool Reactor::closed() const { return body_->turns->closed(); }

void Reactor::close() {
  std::call_once(body_->closing, [this] {
    body_->turns->close();
    body_->threads->close([this] { body_->io.stop(); });
  });
}

Instant Reactor::now() const { return body_->clock.now(); }

TimerId Reactor::at(Instant when, std::function<void()> work) {
  const TimerId id = ++body_->last_timer;
  auto timer = std::make_unique<asio::steady_timer>(body_->io, std::max(when - now(), Nanos(0)));
  timer->async_wait([this, id, work = std::move(work)](error_code error) {
    if (error) return;
    body_->turns->take([&] {
      if (body_->timers.erase(id) != 0) work();
    });
  });
  body_->timers.emplace(id, std::move(timer));
  return id;
}

void Reactor::cancel(TimerId timer) { body_->timers.erase(timer); }

namespace {

// The lookup's thread may outlive the reactor, so it must not own any part of it. The owner of the stream keeps the
// flow.
template <class FlowKind, class Socket>
std::unique_ptr<Stream> open_network(Socket socket, const Endpoint& endpoint, const TlsOptions& tls,
                                     StreamEvents& events, const std::shared_ptr<Turns>& turns) {
  auto flow = std::make_shared<FlowKind>(std::move(socket), name_of(endpoint), events, turns);
  auto begin = [weak = std::weak_ptr<FlowKind>(flow), endpoint, &tls](const Result<std::vector<std::string>>& found) {
    const std::shared_ptr<FlowKind> wanted = weak.lock();
    if (!wanted) return;
    if (!found) return wanted->fail(found.error());
    std::make_shared<Opening<FlowKind>>(wanted, endpoint, tls)->begin(*found);
  };
  error_code error;
  asio::ip::make_address(endpoint.address.host, error);
  if (!error) {
    turns->post([begin, host = endpoint.address.host] { begin(std::vector<std::string>{host}); });
  } else {
    look_up(endpoint.address.host, [turns, begin](Result<std::vector<std::string>> found) {
      turns->post([begin, found = std::move(found)] { begin(found); });
    });
  }
  return std::make_unique<FlowStream<FlowKind>>(std::move(flow));
}

std::unique_ptr<Stream> open_unix(asio::io_context& io, const Endpoint& endpoint, StreamEvents& events,
                                  const std::shared_ptr<Turns>& turns) {
  using Protocol = asio::local::stream_protocol;
  auto flow = std::make_shared<UnixFlow>(Protocol::socket(io), name_of(endpoint), events, turns);
  turns->post([flow, path = endpoint.socket_path] {
    if (!flow->wanted()) return;
    if (const error_code error = open_socket(flow->lowest(), Protocol()); error) {
      return flow->fail(unavailable(flow->name(), error.message()));
    }
    flow->lowest().async_connect(Protocol::endpoint(path), [flow](error_code error) {
      flow->in_turn([&] {
        if (error) return flow->fail(unavailable(flow->name(), error.message()));
        flow->open();
      });
    });
  });
  return std::make_unique<FlowStream<UnixFlow>>(std::move(flow));
}

}  // namespace

std::unique_ptr<Stream> Reactor::connect(const Endpoint& endpoint, StreamEvents& events) {
  if (!endpoint.socket_path.empty()) return open_unix(body_->io, endpoint, events, body_->turns);
  asio::ip::tcp::socket socket(body_->io);
  ClientTls& client = body_->tls;
  if (!endpoint.tls) {
    return open_network<TcpFlow>(std::move(socket), endpoint, client.options(), events, body_->turns);
  }
  asio::ssl::stream<asio::ip::tcp::socket> secured(std::move(socket), client.renewed());
  return open_network<TlsFlow>(std::move(secured), endpoint, client.options(), events, body_->turns);
}

}  // namespace tenure::net
