#include "net/wire.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace tenure::net {

ssize_t SocketWire::send_some(BytesView bytes) {
  for (;;) {
    const ssize_t size = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size >= 0) return size;
    if (errno == EINTR) continue;
    return errno == EAGAIN ? kLater : kBroken;
  }
}

ssize_t SocketWire::receive_some(char* into, std::size_t room) {
  for (;;) {
    const ssize_t size = ::recv(socket_, into, room, MSG_DONTWAIT);
    if (size >= 0) return size;
    if (errno == EINTR) continue;
    return errno == EAGAIN ? kLater : kBroken;
  }
}

unsigned SocketWire::wait(unsigned wanted, Time deadline) {
  pollfd waited{.fd = socket_, .events = 0, .revents = 0};
  if ((wanted & kReadable) != 0) waited.events |= POLLIN;
  if ((wanted & kWritable) != 0) waited.events |= POLLOUT;
  for (;;) {
    timespec left{};
    timespec* patience = nullptr;
    if (deadline != Time::max()) {
      const auto span = std::max(deadline - std::chrono::steady_clock::now(), std::chrono::nanoseconds(0));
      left = {.tv_sec = static_cast<time_t>(span.count() / 1'000'000'000),
              .tv_nsec = static_cast<long>(span.count() % 1'000'000'000)};
      patience = &left;
    }
    const int ready = ppoll(&waited, 1, patience, nullptr);
    if (ready == 0) return 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0 || (waited.revents & ~(POLLIN | POLLOUT)) != 0) return wanted;  // reading or writing says what it is
    return ((waited.revents & POLLIN) != 0 ? kReadable : 0) | ((waited.revents & POLLOUT) != 0 ? kWritable : 0);
  }
}

}  // namespace tenure::net
