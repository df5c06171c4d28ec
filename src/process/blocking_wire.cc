#include "process/blocking_wire.h"

#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/cpu_relax.h"

namespace tenure::process {

using net::Time;

namespace {

constexpr std::chrono::hours kPatienceMax{1};
// Some hundred nanoseconds between two looks: each look takes the lock of the socket, which the other side needs.
constexpr int kPauses = 4;

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // It fails if there are more cores than the set has room for.
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : CPU_SETSIZE;
}

// Limits how many threads spin at a time, so that each of the other sides has a core. Otherwise one caller would gain
// by spinning what others lose, and it does not measure those.
class Seat {
 public:
  Seat() : taken_(looking_.fetch_add(1, std::memory_order_relaxed) < seats()) {
    if (!taken_) looking_.fetch_sub(1, std::memory_order_relaxed);
  }
  ~Seat() {
    if (taken_) looking_.fetch_sub(1, std::memory_order_relaxed);
  }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  bool taken() const { return taken_; }

 private:
  static int seats() {
    static const int half = std::max(1, usable_cores() / 2);
    return half;
  }

  static std::atomic<int> looking_;
  const bool taken_;
};

std::atomic<int> Seat::looking_{0};

}  // namespace

BlockingSocketWire::BlockingSocketWire(int socket) : SocketWire(socket), policy_(usable_cores() > 1) {}

ssize_t BlockingSocketWire::receive_within(char* into, std::size_t room, Time deadline) {
  if (!last_) return sleep(into, room, deadline);
  const Time begun = std::chrono::steady_clock::now();
  ssize_t size = kLater;
  if (policy_.next() == SpinPolicy::Way::spin) {
    const Seat seat;
    if (!seat.taken()) return sleep(into, room, deadline);
    size = look(into, room, std::min(deadline, begun + SpinPolicy::kSpan));
  }
  if (size == kLater) size = sleep(into, room, deadline);
  if (size > 0) policy_.note(std::chrono::steady_clock::now() - begun);
  return size;
}

ssize_t BlockingSocketWire::look(char* into, std::size_t room, Time until) {
  for (;;) {
    const ssize_t size = receive_some(into, room);
    if (size != kLater || std::chrono::steady_clock::now() >= until) return size;
    for (int i = 0; i < kPauses; ++i) cpu_relax();
  }
}

ssize_t BlockingSocketWire::sleep(char* into, std::size_t room, Time deadline) {
  for (;;) {
    const auto left = std::min<std::chrono::nanoseconds>(deadline - std::chrono::steady_clock::now(), kPatienceMax);
    if (left <= std::chrono::nanoseconds(0)) return receive_some(into, room);
    // The timeout of the socket is at most the remaining time, and is rarely changed. A thread that wakes early waits
    // again.
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

}  // namespace tenure::process
