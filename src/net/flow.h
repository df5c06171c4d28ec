#pragma once

// A connection over any kind of socket, and how it is opened: by TCP to the first of several addresses that answers, by
// a unix socket, or with TLS. Only reactor.cc includes this, because of Asio.

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <cerrno>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/tls_files.h"
#include "net/transport.h"
#include "net/turns.h"

namespace tenure::net {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 64U << 10;
constexpr std::size_t kBuffersPerWrite = 16;

inline Error unavailable(const std::string& where, const std::string& what) {
  return {Errc::unavailable, "connect", where + ": " + what};
}

template <class Socket>
constexpr bool kIsTls = false;
template <class Lower>
constexpr bool kIsTls<asio::ssl::stream<Lower>> = true;

// A connection over any kind of socket. It is shared with the handlers that Asio holds, and lives until they have run.
// `events` is null once the owner is gone.
template <class Socket>
class Flow : public std::enable_shared_from_this<Flow<Socket>> {
 public:
  Flow(Socket socket, std::string name, StreamEvents& events, std::shared_ptr<Turns> turns)
      : socket_(std::move(socket)), events_(&events), name_(std::move(name)), turns_(std::move(turns)) {}

  Socket& socket() { return socket_; }
  auto& lowest() { return socket_.lowest_layer(); }
  const std::string& name() const { return name_; }
  bool wanted() const { return events_ != nullptr; }

  // Every handler that Asio calls goes through here. It does nothing once the owner is gone.
  template <class Work>
  void in_turn(Work work) {
    turns_->take([&] {
      if (wanted()) work();
    });
  }

  void abandon() {
    events_ = nullptr;
    shut();
  }

  void open() {
    receive();
    events_->opened();
  }

  // Returns how much the system has taken at once. It does not use Asio for that, since Asio would wake the thread at
  // the sockets to report success.
  std::size_t send(Bytes bytes) {
    std::size_t taken = 0;
    if constexpr (!kIsTls<Socket>) {
      if (unsent_.empty()) {
        const ssize_t sent = ::send(lowest().native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        taken = sent > 0 ? static_cast<std::size_t>(sent) : 0;  // Asio will meet the same error
        if (taken == bytes.size()) return taken;
        offset_ = taken;
      }
    }
    unsent_.push_back(std::move(bytes));
    if (!sending_) transmit();
    return taken;
  }

  void fail(const Error& error) {
    shut();
    if (events_ != nullptr) std::exchange(events_, nullptr)->broken(error);
  }

 private:
  void shut() {
    error_code ignored;
    lowest().close(ignored);
  }

  void receive() {
    socket_.async_read_some(asio::buffer(buffer_),
                            [self = this->shared_from_this()](error_code error, std::size_t size) {
                              self->in_turn([&] {
                                if (error) return self->fail(unavailable(self->name_, error.message()));
                                self->events_->received({self->buffer_.data(), size});
                                if (self->wanted()) self->receive();
                              });
                            });
  }

  void transmit() {
    sending_ = true;
    std::array<asio::const_buffer, kBuffersPerWrite> buffers;
    std::size_t count = 0;
    for (; count < unsent_.size() && count < kBuffersPerWrite; ++count) buffers[count] = asio::buffer(unsent_[count]);
    buffers[0] += offset_;
    socket_.async_write_some(buffers, [self = this->shared_from_this()](error_code error, std::size_t size) {
      self->in_turn([&] {
        self->sending_ = false;
        if (error) return self->fail(unavailable(self->name_, error.message()));
        self->consume(size);
        if (!self->unsent_.empty()) self->transmit();
        self->events_->progressed(size);
      });
    });
  }

  void consume(std::size_t size) {
    offset_ += size;
    while (!unsent_.empty() && offset_ >= unsent_.front().size()) {
      offset_ -= unsent_.front().size();
      unsent_.pop_front();
    }
  }

  Socket socket_;
  StreamEvents* events_;
  const std::string name_;
  const std::shared_ptr<Turns> turns_;
  std::array<char, kReadBytes> buffer_;
  std::deque<Bytes> unsent_;
  std::size_t offset_ = 0;  // of the first of them, already written
  bool sending_ = false;
};

using TcpFlow = Flow<asio::ip::tcp::socket>;
using TlsFlow = Flow<asio::ssl::stream<asio::ip::tcp::socket>>;
using UnixFlow = Flow<asio::local::stream_protocol::socket>;

// Used instead of Asio's open(), so that handlers' programs do not inherit the socket.
template <class Socket, class Protocol>
error_code open_socket(Socket& socket, const Protocol& protocol) {
  const int descriptor = ::socket(protocol.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return {errno, boost::system::system_category()};
  if (protocol.family() != AF_UNIX) {
    const int on = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  }
  error_code error;
  socket.assign(protocol, descriptor, error);
  return error;
}

inline std::string tls_problem(const error_code& error) {
  if (error.category() != asio::error::get_ssl_category()) return error.message();
  return "TLS: " + error.message();
}

// Connects to one of the addresses, and makes the handshake if the flow uses TLS.
template <class FlowKind>
class Opening : public std::enable_shared_from_this<Opening<FlowKind>> {
 public:
  Opening(std::shared_ptr<FlowKind> flow, const Endpoint& endpoint, const TlsOptions& tls)
      : flow_(std::move(flow)), endpoint_(endpoint), tls_(tls) {}

  void begin(std::vector<std::string> addresses) {
    addresses_ = std::move(addresses);
    try_next();
  }

 private:
  void try_next() {
    if (!flow_->wanted()) return;
    if (next_ == addresses_.size()) return flow_->fail(unavailable(flow_->name(), last_.message()));
    error_code error;
    const auto address = asio::ip::make_address(addresses_[next_++], error);
    const asio::ip::tcp::endpoint target(address, endpoint_.address.port);
    error_code ignored;
    flow_->lowest().close(ignored);
    if (!error) error = open_socket(flow_->lowest(), target.protocol());
    if (error) return failed(error);
    flow_->lowest().async_connect(target, [self = this->shared_from_this()](error_code result) {
      self->flow_->in_turn([&] { result ? self->failed(result) : self->connected(); });
    });
  }

  void failed(error_code error) {
    last_ = error;
    try_next();
  }

  void connected() {
    if constexpr (std::is_same_v<FlowKind, TlsFlow>) {
      shake_hands();
    } else {
      flow_->open();
    }
  }

  void shake_hands() {
    auto& stream = flow_->socket();
    const std::string& host = tls_.server_name.empty() ? endpoint_.address.host : tls_.server_name;
    expect_host(*stream.native_handle(), host, tls_.verify);
    stream.async_handshake(asio::ssl::stream_base::client, [self = this->shared_from_this()](error_code result) {
      self->flow_->in_turn([&] { result ? self->distrusted(result) : self->flow_->open(); });
    });
  }

  void distrusted(error_code error) {
    Error broken = unavailable(flow_->name(), tls_problem(error));
    // Trying again would not help.
    if (SSL_get_verify_result(flow_->socket().native_handle()) != X509_V_OK) {
      broken.code = Errc::refused;
      broken.context += "; name the authority that signed it with ca_file=, or its host with server_name=";
    }
    flow_->fail(broken);
  }

  const std::shared_ptr<FlowKind> flow_;
  const Endpoint endpoint_;
  const TlsOptions& tls_;
  std::vector<std::string> addresses_;
  std::size_t next_ = 0;
  error_code last_ = asio::error::host_not_found;
};

template <class FlowKind>
class FlowStream final : public Stream {
 public:
  explicit FlowStream(std::shared_ptr<FlowKind> flow) : flow_(std::move(flow)) {}
  ~FlowStream() override { flow_->abandon(); }
  std::size_t send(Bytes bytes) override { return flow_->send(std::move(bytes)); }

 private:
  const std::shared_ptr<FlowKind> flow_;
};

}  // namespace tenure::net
