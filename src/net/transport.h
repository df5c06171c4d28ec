#pragma once

// Where the bytes of connections come from and go to. The production one is reactor.h; tests put scripted servers in
// its place, so that every step of a connection can be tested without a socket.

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
  // So many bytes of what was sent have been taken by the system. That says nothing of the other side.
  virtual void progressed(std::size_t bytes) = 0;
  // The last event: it could not be opened, or broke. Errc::unavailable, or Errc::refused where TLS does not trust it.
  virtual void broken(const Error& error) = 0;
};

// One connection. Destroying it closes it at once, and no event comes after that. Belongs to the loop.
class Stream {
 public:
  virtual ~Stream() = default;
  // Only once opened. What waits to be sent is the sender's to bound. Returns how many bytes the system has taken at
  // once; of the others StreamEvents::progressed tells.
  virtual std::size_t send(Bytes bytes) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::unique_ptr<Stream> connect(const Endpoint& endpoint, StreamEvents& events) = 0;
};

}  // namespace tenure::net
