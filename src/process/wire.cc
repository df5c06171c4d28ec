#include "process/wire.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace tenure::process {
namespace {

constexpr std::chrono::hours kPatienceMax{1};

}  // namespace

Time after(std::chrono::nanoseconds span) {
  const Time now = std::chrono::steady_clock::now();
  if (span <= std::chrono::nanoseconds(0)) return now;
  return span < Time::max() - now ? now + span : Time::max();
}

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

ssize_t BlockingSocketWire::receive_within(char* into, std::size_t room, Time deadline) {
  for (;;) {
    const auto left = std::min<std::chrono::nanoseconds>(deadline - std::chrono::steady_clock::now(), kPatienceMax);
    if (left <= std::chrono::nanoseconds(0)) return receive_some(into, room);
    // The socket's own patience is at most what is left, and is changed seldom: who is woken early waits again.
    if (patience_ > left || patience_ < left / 2) {
      patience_ = std::max<std::chrono::nanoseconds>(left * 3 / 4, std::chrono::microseconds(1));
      const timeval span{.tv_sec = static_cast<time_t>(patience_.count() / 1'000'000'000),
                         .tv_usec = static_cast<suseconds_t>(patience_.count() % 1'000'000'000 / 1000)};
      setsockopt(descriptor(), SOL_SOCKET, SO_RCVTIMEO, &span, sizeof span);
    }
    const ssize_t size = ::recv(descriptor(), into, room, 0);
    if (size >= 0) return size;
    if (errno != EINTR && errno != EAGAIN) return kBroken;
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

}  // namespace tenure::process
