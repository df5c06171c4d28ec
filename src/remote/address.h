#pragma once

// Where a pool is served: unix:PATH or tcp:HOST:PORT, and the sockets for it.

#include <sys/socket.h>

#include <string>

#include "base/result.h"
#include "exec/descriptor.h"
#include "process/wire.h"

namespace tenure::remote {

struct Place {
  bool unix_socket = false;
  std::string path;
  std::string host;  // without brackets
  std::string port;
};

// Errc::invalid says what is wrong.
Result<Place> read_place(const std::string& address);

struct Listening {
  exec::Descriptor socket;
  std::string address;    // with the port that was given
  bool off_host = false;  // others than this host can reach it
};
// A unix socket that nobody serves any more is replaced; its file is for its owner alone.
Result<Listening> listen_at(const Place& place);

struct Connected {
  exec::Descriptor socket;
  bool off_host = false;
};
Result<Connected> connect_to(const Place& place, process::Time deadline);

}  // namespace tenure::remote
