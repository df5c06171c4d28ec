#pragma once

// A socket to a child process, for a thread that has nothing to do but wait for the answer.

#include "net/wire.h"
#include "process/spin_policy.h"

namespace tenure::process {

// One that blocks (no O_NONBLOCK): waiting and receiving are then one call to the system, which is a tenth of a round
// trip. Where it pays it looks for a moment before it sleeps (spin_policy.h).
class BlockingSocketWire final : public net::SocketWire {
 public:
  explicit BlockingSocketWire(int socket);
  ssize_t receive_within(char* into, std::size_t room, net::Time deadline) override;
  // Whether what is to be received next is the answer to all that was sent. With more under way than that, who looks
  // would take the processor from the one who answers, and get the answers one by one.
  void expect_last(bool last) { last_ = last; }

 private:
  ssize_t look(char* into, std::size_t room, net::Time until);
  ssize_t sleep(char* into, std::size_t room, net::Time deadline);

  std::chrono::nanoseconds patience_{0};  // as the socket has it
  SpinPolicy policy_;
  bool last_ = false;
};

}  // namespace tenure::process
