#pragma once

// Frames over a wire:
//
//     frame := size:u32 kind:u8 byte*(size-1)        size in network byte order, from 1 to bytes_max + 1
//
// Which kinds there are is for those who use it. One thread at a time.

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "net/wire.h"

namespace tenure::process {

constexpr std::size_t kFrameHead = 5;

class Channel {
 public:
  // What may wait here to be received beyond one frame, while the peer takes nothing from us.
  static constexpr std::size_t kUnreadBytesMax = std::size_t{4} << 20;

  Channel(net::Wire& wire, std::size_t bytes_max) : wire_(wire), bytes_max_(bytes_max) {}

  struct Frame {
    char kind = 0;
    BytesView bytes;  // until the next call
  };

  // Errc::timed_out, Errc::closed (the peer has), Errc::corrupt (it sent what is no frame), and Errc::busy: the peer
  // takes nothing, since nobody receives what it sends.
  Status send(char kind, BytesView bytes, net::Time deadline);  // Errc::invalid: too long, nothing was done
  Status flush(net::Time deadline);
  Result<Frame> receive(net::Time deadline);
  // The next frame if it is there; Errc::timed_out, without having waited.
  Result<Frame> take();
  // The next frame if it has been received already: asks nothing of the wire. A kind of zero if there is none.
  Result<Frame> held() { return parse(); }

  bool unsent() const { return sent_ < out_.size(); }
  // Whether anything has come that was not taken; also true at the end of the stream. Reads what is there.
  bool stirs();
  // From now on, frames of up to so many bytes.
  void allow(std::size_t bytes_max) { bytes_max_ = bytes_max; }
  bool fits(std::size_t bytes) const { return bytes <= bytes_max_; }

 private:
  // Sends what the wire takes; false if it is broken.
  bool push();
  enum class Pulled : std::uint8_t { some, nothing, ended };
  // With a deadline it waits.
  Pulled pull(std::optional<net::Time> deadline = std::nullopt);
  // A whole frame that has been received, or Errc::corrupt, or nothing yet: a kind of zero.
  Result<Frame> parse();
  void compact();

  net::Wire& wire_;
  std::size_t bytes_max_;
  Bytes out_;
  std::size_t sent_ = 0;  // of out_
  Bytes in_;
  std::size_t filled_ = 0;  // of in_
  std::size_t taken_ = 0;   // of filled_
};

}  // namespace tenure::process
