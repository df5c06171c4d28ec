#pragma once

// Detects that the host at the other end of a TCP connection is gone. Does nothing for unix sockets, since the end of
// the other process is always seen there.
//
// TCP has two timeouts. Keepalive probes an idle connection, and gives up after kSilence. While sent data is not
// acknowledged there are no probes; then the user timeout counts, from the time of sending. Data that is sent just
// before keepalive gives up would therefore double the wait. So before each send the user timeout is set to what is
// left of kSilence since the other host was last heard of.

#include <chrono>

namespace tenure::net {

constexpr std::chrono::milliseconds kSilence{10'000};
// Keepalive probes after kProbeAfter without data, and then every kProbeEvery. It gives up at the first probe after
// kSilence, so a silent host is detected within kSilence + kProbeEvery.
constexpr std::chrono::seconds kProbeAfter{4};
constexpr std::chrono::seconds kProbeEvery{2};

// One thread at a time.
class Silence {
 public:
  // Sets the socket up.
  explicit Silence(int socket);
  // Call it before each send.
  void before_sending();

 private:
  const int socket_;
  std::chrono::milliseconds patience_ = kSilence;  // as the socket has it
};

}  // namespace tenure::net
