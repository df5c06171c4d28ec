#pragma once

// Frames over a wire:
//
//     frame := size:u32 kind:u8 byte*(size-1)        size in network byte order, from 1 to bytes_max + 1
//
// The users of this class define the kinds. One thread at a time.

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "net/wire.h"

namespace tenure::process {

constexpr std::size_t kFrameHead = 5;

class Channel {
 public:
  // Received bytes beyond one frame that may wait here while the peer does not read ours.
  static constexpr std::size_t kUnreadBytesMax = std::size_t{4} << 20;

  Channel(net::Wire& wire, std::size_t bytes_max) : wire_(wire), bytes_max_(bytes_max) {}

  struct Frame {
    char kind = 0;
    BytesView bytes;  // until the next call
  };

  // Errc::timed_out, Errc::closed (by the peer), Errc::corrupt (the peer sent something that is not a frame), and
  // Errc::busy: the peer does not read, because nobody receives what it sends.
  Status send(char kind, BytesView bytes, net::Time deadline);  // Errc::invalid: too long, nothing was done
  Status flush(net::Time deadline);
  Result<Frame> receive(net::Time deadline);
  // The next frame, without waiting. Errc::timed_out if it has not arrived.
  Result<Frame> take();
  // The next frame if it was already received. Does not read from the wire. Kind zero if there is none.
  Result<Frame> held() { return parse(); }

  bool unsent() const { return sent_ < out_.size(); }
  // Reads what is available. True if there are bytes that were not taken, or at the end of the stream.
  bool stirs();
  // Changes the limit on the size of frames.
  void allow(std::size_t bytes_max) { bytes_max_ = bytes_max; }
  bool fits(std::size_t bytes) const { return bytes <= bytes_max_; }

 private:
  // Sends as much as the wire takes. False if it is broken.
  bool push();
  enum class Pulled : std::uint8_t { some, nothing, ended };
  // Waits if there is a deadline.
  Pulled pull(std::optional<net::Time> deadline = std::nullopt);
  // A complete received frame, or Errc::corrupt. Kind zero if there is none yet.
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
