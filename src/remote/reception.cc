#include "remote/reception.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <system_error>

namespace tenure::remote {
namespace {

// Closed newcomers whose threads have not noticed yet. If there are more, a new connection is closed without a message:
// the host cannot keep up.
constexpr std::size_t kLeavingMax = 64;

// The host of a connection. All connections of a unix socket count as one host. For IPv6, the part of the address that
// its owner cannot choose.
std::string host_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  if (address.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &address, sizeof four);
    return {reinterpret_cast<const char*>(&four.sin_addr), sizeof four.sin_addr};
  }
  if (address.ss_family != AF_INET6) return "";
  constexpr std::size_t kNetworkBytes = 8;
  constexpr std::size_t kMappedBytes = 12;  // the prefix of an IPv4 address
  sockaddr_in6 six{};
  std::memcpy(&six, &address, sizeof six);
  const std::string bytes(reinterpret_cast<const char*>(&six.sin6_addr), sizeof six.sin6_addr);
  return IN6_IS_ADDR_V4MAPPED(&six.sin6_addr) != 0 ? bytes.substr(kMappedBytes) : bytes.substr(0, kNetworkBytes);
}

}  // namespace

struct Reception::Guest {
  Guest(Reception& reception, Descriptor socket)
      : host(host_of(socket.get())),
        session(std::move(socket), reception.pool_, reception.options_, *reception.credentials_,
                !reception.unix_socket_, [this, &reception] { return reception.admit(*this); }) {}

  const std::string host;
  Session session;
  Standing standing = Standing::newcomer;  // guarded by the reception's mutex
  std::thread thread;
  std::atomic<bool> gone{false};
};

Reception::Reception(Session::Pool pool, ServeOptions options, std::unique_ptr<Credentials> credentials,
                     bool unix_socket)
    : pool_(std::move(pool)),
      options_(std::move(options)),
      credentials_(std::move(credentials)),
      unix_socket_(unix_socket),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Reception::~Reception() {
  {
    const std::lock_guard lock(mutex_);
    for (Guest& guest : guests_) {
      guest.standing = Standing::leaving;
      guest.session.end();
    }
  }
  for (Guest& guest : guests_) guest.thread.join();
}

std::size_t Reception::count(Standing standing) const {
  return static_cast<std::size_t>(std::count_if(
      guests_.begin(), guests_.end(), [&](const Guest& guest) { return guest.standing == standing && !guest.gone; }));
}

std::size_t Reception::clients() {
  const std::lock_guard lock(mutex_);
  return count(Standing::client);
}

void Reception::welcome(Descriptor socket) {
  const std::lock_guard lock(mutex_);
  if (count(Standing::leaving) >= kLeavingMax) return;
  if (count(Standing::newcomer) >= options_.newcomers_max) make_room();
  Guest& guest = guests_.emplace_back(*this, std::move(socket));
  try {
    guest.thread = std::thread([this, &guest] { serve(guest); });
  } catch (const std::system_error&) {
    guests_.pop_back();
  }
}

void Reception::make_room() {
  std::map<std::string_view, std::size_t> newcomers;
  for (const Guest& guest : guests_) newcomers[guest.host] += guest.standing == Standing::newcomer ? 1 : 0;
  Guest* leaves = nullptr;
  for (Guest& guest : guests_) {
    if (guest.standing != Standing::newcomer) continue;
    if (leaves == nullptr || newcomers[guest.host] > newcomers[leaves->host]) leaves = &guest;
  }
  if (leaves == nullptr) return;
  leaves->standing = Standing::leaving;
  leaves->session.end();
}

void Reception::serve(Guest& guest) {
  pthread_setname_np(pthread_self(), "tenure-guest");
  guest.session.run();
  guest.session.end();
  guest.gone = true;
  const std::uint64_t one = 1;
  (void)!::write(bell_.get(), &one, sizeof one);
}

Status Reception::admit(Guest& guest) {
  const std::lock_guard lock(mutex_);
  if (guest.standing != Standing::newcomer) return fail(Errc::closed, "connect", "it took too long");
  if (count(Standing::client) >= options_.connections_max) {
    return fail(Errc::busy, "connect", "there are " + std::to_string(options_.connections_max) + " already");
  }
  guest.standing = Standing::client;
  return {};
}

void Reception::forget_gone() {
  std::uint64_t ignored = 0;
  (void)!::read(bell_.get(), &ignored, sizeof ignored);
  std::list<Guest> gone;
  {
    const std::lock_guard lock(mutex_);
    for (auto guest = guests_.begin(); guest != guests_.end();) {
      const auto next = std::next(guest);
      if (guest->gone) gone.splice(gone.end(), guests_, guest);
      guest = next;
    }
  }
  for (Guest& guest : gone) guest.thread.join();
}

}  // namespace tenure::remote
