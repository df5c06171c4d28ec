#include "log_conformance/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"

namespace tenure::conformance {

std::uint16_t free_port() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT(::bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0);
  ASSERT(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ::close(listener);
  return ntohs(address.sin_port);
}

}  // namespace tenure::conformance
