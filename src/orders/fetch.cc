#include "orders/fetch.h"

#include <fcntl.h>

#include <array>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>

#include "net/place.h"
#include "net/tls_wire.h"
#include "orders/web_address.h"

namespace tenure::orders {
namespace {

namespace http = boost::beast::http;

constexpr std::uint32_t kHeaderBytesMax = 16U << 10;
constexpr const char* kFetch = "fetch order";

// A connection to a server. The socket outlives the wire.
struct Connection {
  Descriptor socket;
  std::unique_ptr<net::Wire> wire;
};

Failure not_allowed(std::string why) { return fail(Errc::refused, kFetch, std::move(why)); }

Result<Connection> connect(const WebAddress& address, Deadline deadline) {
  const net::Place place{.path = {}, .host = address.host, .port = std::to_string(address.port)};
  Result<net::Connected> connected = net::connect_to(place, deadline);
  if (!connected) return Failure(connected.error());
  Connection made{.socket = std::move(connected->socket), .wire = nullptr};
  fcntl(made.socket.get(), F_SETFL, fcntl(made.socket.get(), F_GETFL) | O_NONBLOCK);
  if (!address.tls) {
    made.wire = std::make_unique<net::SocketWire>(made.socket.get());
    return made;
  }
  const auto context = net::TlsContext::client("");
  if (!context) return Failure(context.error());
  auto wire = (*context)->open(made.socket.get(), address.host, deadline);
  if (!wire) return Failure(wire.error());
  made.wire = *std::move(wire);
  return made;
}

Status send_all(net::Wire& wire, BytesView bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = wire.send_some(bytes);
    if (sent == net::Wire::kBroken) return fail(Errc::unavailable, kFetch, "the connection was closed");
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    if (sent <= 0 && wire.wait(net::Wire::kWritable, deadline) == 0) return fail(Errc::timed_out, kFetch);
  }
  return {};
}

struct Answer {
  unsigned status = 0;
  std::string location{};
  Bytes body{};
};

Failure bad_answer(const boost::system::error_code& error, std::size_t bytes_max) {
  if (error == http::error::body_limit) {
    return not_allowed("the order has more than " + std::to_string(bytes_max) + " bytes");
  }
  return fail(Errc::unavailable, kFetch, "the answer cannot be read: " + error.message());
}

Result<Answer> receive(net::Wire& wire, std::size_t bytes_max, Deadline deadline) {
  http::response_parser<http::string_body> parser;
  parser.body_limit(bytes_max);
  parser.header_limit(kHeaderBytesMax);
  parser.eager(true);
  std::string unread;
  std::array<char, 16U << 10> chunk{};
  boost::system::error_code error;
  while (!parser.is_done()) {
    const ssize_t count = wire.receive_some(chunk.data(), chunk.size());
    if (count == net::Wire::kLater) {
      if (wire.wait(net::Wire::kReadable, deadline) == 0) return fail(Errc::timed_out, kFetch);
      continue;
    }
    if (count <= 0) {
      parser.put_eof(error);
      if (error || !parser.is_done()) return fail(Errc::unavailable, kFetch, "the connection was closed");
      break;
    }
    unread.append(chunk.data(), static_cast<std::size_t>(count));
    const std::size_t used = parser.put(boost::asio::buffer(unread), error);
    unread.erase(0, used);
    if (error == http::error::need_more) error = {};
    if (error) return bad_answer(error, bytes_max);
  }
  const auto& message = parser.get();
  const auto location = message[http::field::location];
  return Answer{.status = message.result_int(),
                .location = std::string(location.data(), location.size()),
                .body = message.body()};
}

Result<Answer> ask(const WebAddress& address, std::size_t bytes_max, Deadline deadline) {
  auto connection = connect(address, deadline);
  if (!connection) return Failure(connection.error());
  const std::string request = "GET " + address.target + " HTTP/1.1\r\nHost: " + address.authority() +
                              "\r\nAccept: */*\r\nAccept-Encoding: identity\r\nUser-Agent: tenure\r\n" +
                              "Connection: close\r\n\r\n";
  if (Status sent = send_all(*connection->wire, request, deadline); !sent) return Failure(sent.error());
  return receive(*connection->wire, bytes_max, deadline);
}

bool redirects(unsigned status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace

Result<Bytes> fetch_order(std::string_view url, const RunOptions& options, Deadline deadline) {
  Result<WebAddress> address = parse_web_address(url);
  if (!address) return not_allowed(address.error().context);
  for (int hops = 0;; ++hops) {
    if (!host_allowed(options.hosts, address->host, address->port, address->tls)) {
      return not_allowed("the host " + address->authority() + " is none of those that are allowed");
    }
    Result<Answer> answer = ask(*address, options.order_bytes, deadline);
    if (!answer) return Failure(answer.error());
    if (answer->status == 200) return std::move(answer->body);
    if (!redirects(answer->status)) {
      return fail(Errc::unavailable, kFetch,
                  address->authority() + " answered with status " + std::to_string(answer->status));
    }
    if (hops == kRedirectsMax)
      return not_allowed("there are more than " + std::to_string(kRedirectsMax) + " redirections");
    Result<WebAddress> next = follow(*address, answer->location);
    if (!next) return not_allowed("it leads to a URL that is not allowed: " + next.error().context);
    if (address->tls && !next->tls) return not_allowed("it leads from https to http");
    address = std::move(next);
  }
}

}  // namespace tenure::orders
