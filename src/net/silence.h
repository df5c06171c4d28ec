#pragma once

// How long a host may be silent before it counts as gone, on a TCP connection. Nothing for unix sockets, whose ends are
// always known.
//
// While nothing is under way keepalive asks the other host, and gives it up after kSilence. What was sent and is not
// acknowledged keeps keepalive from asking; there the user timeout counts, from when it was sent. So who sends
// something just before keepalive gives up would wait for twice as long: a worker that is lent to a client whose host
// has been gone for nine seconds, say. Therefore the user timeout is what is left of kSilence, counted from when the
// other host was last heard of.

#include <chrono>

namespace tenure::net {

constexpr std::chrono::milliseconds kSilence{10'000};
// Keepalive asks after so long without a word, and then in such steps. A silent host is given up at the first of these
// after kSilence, which is what makes the bound kSilence and a step.
constexpr std::chrono::seconds kProbeAfter{4};
constexpr std::chrono::seconds kProbeEvery{2};

// One thread at a time.
class Silence {
 public:
  // Sets the socket up.
  explicit Silence(int socket);
  // To be called before something is sent.
  void before_sending();

 private:
  const int socket_;
  std::chrono::milliseconds patience_ = kSilence;  // as the socket has it
};

}  // namespace tenure::net
