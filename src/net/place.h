#pragma once

// Where a server listens: unix:PATH or tcp:HOST:PORT, and the sockets for it.

#include <sys/socket.h>

#include <string>

#include "base/descriptor.h"
#include "base/result.h"
#include "net/wire.h"

namespace tenure::net {

struct Place {
  bool unix_socket = false;
  std::string path;
  std::string host;  // without brackets
  std::string port;
};

// Errc::invalid says what is wrong.
Result<Place> read_place(const std::string& address);

struct Listening {
  Descriptor socket;
  std::string address;    // with the port that was given
  bool off_host = false;  // other hosts can reach it
};
// Replaces a unix socket that no process serves any more. Only the owner of its file may connect.
Result<Listening> listen_at(const Place& place);

struct Connected {
  Descriptor socket;
  bool off_host = false;
};
Result<Connected> connect_to(const Place& place, Time deadline);

}  // namespace tenure::net
