#include "net/place.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <thread>

namespace tenure::net {
namespace {

// The system may have a smaller bound of its own.
constexpr int kBacklog = 4096;
constexpr std::chrono::milliseconds kBacklogPause{5};

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, address, sizeof four);
    return ntohl(four.sin_addr.s_addr) >> 24 == 127;
  }
  if (address->sa_family != AF_INET6) return false;
  sockaddr_in6 six{};
  std::memcpy(&six, address, sizeof six);
  return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) != 0;
}

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail(Errc::invalid, "unix:" + path, "the path is too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

using Found = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Result<Found> addresses_of(const Place& place, bool to_listen) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = to_listen ? AI_PASSIVE : 0;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &found);
  if (error != 0) return fail(Errc::unavailable, "look up " + place.host, gai_strerror(error));
  return Found(found, freeaddrinfo);
}

Failure system_failure(const std::string& what) { return fail(Errc::unavailable, what, std::strerror(errno)); }

const sockaddr* plain(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

// Removes a socket that a dead server has left behind. A socket that is served is not touched.
Status make_room(const sockaddr_un& address) {
  struct stat there{};
  if (lstat(address.sun_path, &there) != 0) return {};
  if (!S_ISSOCK(there.st_mode)) return fail(Errc::refused, "listen", std::string(address.sun_path) + " is no socket");
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(probe.get(), plain(address), sizeof address) == 0 || errno != ECONNREFUSED) {
    return fail(Errc::unavailable, "listen", std::string(address.sun_path) + " is served already");
  }
  ::unlink(address.sun_path);
  return {};
}

Result<Listening> listen_unix(const Place& place) {
  Result<sockaddr_un> address = unix_address(place.path);
  if (!address) return Failure(address.error());
  if (Status room = make_room(*address); !room) return Failure(room.error());
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return system_failure("listen");
  fchmod(socket.get(), S_IRUSR | S_IWUSR);  // before bind(), so that no other user can ever connect
  if (::bind(socket.get(), plain(*address), sizeof *address) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    return system_failure("listen at " + place.path);
  }
  return Listening{std::move(socket), "unix:" + place.path, false};
}

Result<Listening> listen_tcp(const Place& place) {
  const Result<Found> found = addresses_of(place, true);
  if (!found) return Failure(found.error());
  const addrinfo& first = **found;
  Descriptor socket(::socket(first.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!socket || ::bind(socket.get(), first.ai_addr, first.ai_addrlen) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    return system_failure("listen at " + place.host + ":" + place.port);
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  std::array<char, NI_MAXSERV> port{};
  getnameinfo(reinterpret_cast<sockaddr*>(&bound), size, nullptr, 0, port.data(), port.size(), NI_NUMERICSERV);
  const bool brackets = place.host.find(':') != std::string::npos;
  return Listening{std::move(socket), "tcp:" + (brackets ? "[" + place.host + "]" : place.host) + ":" + port.data(),
                   !is_loopback(first.ai_addr)};
}

Status wait_connected(int socket, Time deadline) {
  if (SocketWire(socket).wait(Wire::kWritable, deadline) == 0) {
    return fail(Errc::unavailable, "connect", "nobody answers");
  }
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return fail(Errc::unavailable, "connect", std::strerror(error));
  return {};
}

Result<Descriptor> connect_one(int family, const sockaddr* to, socklen_t size, Time deadline) {
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return system_failure("connect");
  // A unix socket whose queue is full fails at once, and poll() cannot wait for it.
  while (::connect(socket.get(), to, size) != 0 && errno != EINPROGRESS) {
    if (errno == EINTR) continue;
    if (family != AF_UNIX || errno != EAGAIN || std::chrono::steady_clock::now() >= deadline) {
      return system_failure("connect");
    }
    std::this_thread::sleep_for(kBacklogPause);
  }
  if (Status connected = wait_connected(socket.get(), deadline); !connected) return Failure(connected.error());
  return socket;
}

}  // namespace

Result<Place> read_place(const std::string& address) {
  const auto wrong = [&](const char* why) { return fail(Errc::invalid, "read the address '" + address + "'", why); };
  Place place;
  if (address.starts_with("unix:")) {
    place.unix_socket = true;
    place.path = address.substr(5);
    if (place.path.empty()) return wrong("a path is needed");
    return place;
  }
  if (!address.starts_with("tcp:")) return wrong("it is neither unix:PATH nor tcp:HOST:PORT");
  const std::string rest = address.substr(4);
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string::npos || colon == 0) return wrong("it is not tcp:HOST:PORT");
  place.host = rest.substr(0, colon);
  place.port = rest.substr(colon + 1);
  if (place.host.starts_with('[') && place.host.ends_with(']'))
    place.host = place.host.substr(1, place.host.size() - 2);
  unsigned number = 0;
  const char* end = place.port.data() + place.port.size();
  const auto [stop, error] = std::from_chars(place.port.data(), end, number);
  if (place.host.empty() || error != std::errc() || stop != end || number > 65535) return wrong("the port is none");
  return place;
}

Result<Listening> listen_at(const Place& place) { return place.unix_socket ? listen_unix(place) : listen_tcp(place); }

Result<Connected> connect_to(const Place& place, Time deadline) {
  if (place.unix_socket) {
    const Result<sockaddr_un> address = unix_address(place.path);
    if (!address) return Failure(address.error());
    auto socket = connect_one(AF_UNIX, plain(*address), sizeof *address, deadline);
    if (!socket) return fail(socket.error().code, "connect to unix:" + place.path, socket.error().context);
    return Connected{*std::move(socket), false};
  }
  const Result<Found> found = addresses_of(place, false);
  if (!found) return Failure(found.error());
  Error last{Errc::unavailable, "connect", "no address"};
  for (const addrinfo* each = found->get(); each != nullptr; each = each->ai_next) {
    auto socket = connect_one(each->ai_family, each->ai_addr, each->ai_addrlen, deadline);
    if (socket) return Connected{*std::move(socket), !is_loopback(each->ai_addr)};
    last = socket.error();
  }
  return fail(last.code, "connect to " + place.host + ":" + place.port, last.context);
}

}  // namespace tenure::net
