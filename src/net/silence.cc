#include "net/silence.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

namespace tenure::net {
namespace {

using namespace std::chrono_literals;

// The user timeout is changed in steps of this, so that a connection that is in use keeps it.
constexpr std::chrono::milliseconds kSilenceStep = 1s;

void set_option(int socket, int level, int option, long value) {
  const int number = static_cast<int>(value);
  setsockopt(socket, level, option, &number, sizeof number);
}

}  // namespace

Silence::Silence(int socket) : socket_(socket) {
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kProbeAfter.count());
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeEvery.count());
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, (kSilence - kProbeAfter) / kProbeEvery);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kSilence.count());
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

void Silence::before_sending() {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket_, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return;
  // What is already under way was sent with less patience, or as much.
  if (info.tcpi_unacked != 0) return;
  const std::chrono::milliseconds silent(info.tcpi_last_ack_recv);
  const auto left = std::max(kSilence - silent / kSilenceStep * kSilenceStep, kSilenceStep);
  if (left == patience_) return;
  patience_ = left;
  set_option(socket_, IPPROTO_TCP, TCP_USER_TIMEOUT, left.count());
}

}  // namespace tenure::net
