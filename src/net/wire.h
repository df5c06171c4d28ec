#pragma once

// A stream of bytes to a peer: a socket, or TLS over one (tls_wire.h). Only wait() and receive_within() wait.

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/deadline.h"

namespace tenure::net {

using Time = std::chrono::steady_clock::time_point;

class Wire {
 public:
  static constexpr unsigned kReadable = 1;
  static constexpr unsigned kWritable = 2;
  // Returned in place of a count. At the end of the stream receive_some() returns 0.
  static constexpr ssize_t kLater = -1;
  static constexpr ssize_t kBroken = -2;

  virtual ~Wire() = default;
  virtual ssize_t send_some(BytesView bytes) = 0;
  virtual ssize_t receive_some(char* into, std::size_t room) = 0;
  // The same, but waits. Returns kLater after the deadline.
  virtual ssize_t receive_within(char* into, std::size_t room, Time deadline) {
    return wait(kReadable, deadline) == 0 ? kLater : receive_some(into, room);
  }
  // Waits until one of `wanted` may succeed, and returns it. Returns zero after the deadline.
  virtual unsigned wait(unsigned wanted, Time deadline) = 0;
  // Can be polled for reading after receive_some() has returned kLater.
  virtual int descriptor() const = 0;
};

using tenure::after;

// A stream socket, which it does not own.
class SocketWire : public Wire {
 public:
  explicit SocketWire(int socket) : socket_(socket) {}

  ssize_t send_some(BytesView bytes) override;
  ssize_t receive_some(char* into, std::size_t room) override;
  unsigned wait(unsigned wanted, Time deadline) override;
  int descriptor() const override { return socket_; }

 private:
  const int socket_;
};

}  // namespace tenure::net
