#pragma once

// A socket to a child process, for a thread that only waits for the answer.

#include "net/wire.h"
#include "process/spin_policy.h"

namespace tenure::process {

// A blocking socket (no O_NONBLOCK): waiting and receiving are one system call, which saves a tenth of a round trip. If
// it pays, the thread spins for a moment before it sleeps (spin_policy.h).
class BlockingSocketWire final : public net::SocketWire {
 public:
  explicit BlockingSocketWire(int socket);
  ssize_t receive_within(char* into, std::size_t room, net::Time deadline) override;
  // Whether the next receive completes everything that was sent. With more requests in flight, a caller that spins
  // would take the processor from the side that answers, and get the answers one by one.
  void expect_last(bool last) { last_ = last; }

 private:
  ssize_t look(char* into, std::size_t room, net::Time until);
  ssize_t sleep(char* into, std::size_t room, net::Time deadline);

  std::chrono::nanoseconds patience_{0};  // the socket's current timeout
  SpinPolicy policy_;
  bool last_ = false;
};

}  // namespace tenure::process
