#pragma once

// Opens connections. In production this is the reactor (reactor.h). Tests use scripted servers, so that every step of a
// protocol can be tested without a socket.

#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "net/endpoint.h"

namespace tenure::net {

// Called on the loop, never inside a call of Stream.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  virtual void opened() = 0;
  virtual void received(BytesView bytes) = 0;
  // The system has taken `bytes` more of the sent bytes. This does not mean that the other side has received them.
  virtual void progressed(std::size_t bytes) = 0;
  // The last event: the connection could not be opened, or it broke. Errc::unavailable, or Errc::refused if TLS does
  // not trust the other side.
  virtual void broken(const Error& error) = 0;
};

// One connection. Its destructor closes it at once; no event comes after that. Belongs to the loop.
class Stream {
 public:
  virtual ~Stream() = default;
  // Only after opened(). The sender bounds how many bytes wait. Returns how many bytes the system has taken at once;
  // StreamEvents::progressed() reports the others.
  virtual std::size_t send(Bytes bytes) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::unique_ptr<Stream> connect(const Endpoint& endpoint, StreamEvents& events) = 0;
};

}  // namespace tenure::net
