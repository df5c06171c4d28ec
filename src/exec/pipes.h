#pragma once

// The worker's ends of a program's standard streams, and what is to be written to it.

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/result.h"

namespace tenure::exec {

// Belongs to the host's thread.
class Pipes {
 public:
  enum Stream : std::uint8_t { input = 0, output = 1, errors = 2 };

  // Makes the pipes; the program's own ends, in order, are the caller's to hand over and close.
  Result<std::vector<Descriptor>> open();
  int descriptor(Stream stream) const { return own_.at(stream).get(); }
  bool is_open(Stream stream) const { return static_cast<bool>(own_.at(stream)); }

  // For write() to write. The caller bounds what waits.
  void send(Bytes bytes);
  // The input ends once all of this is written.
  void end_input() { ends_ = true; }
  // Writes what the pipe takes. A program that has closed its input, or is gone, wants none of it.
  void write();
  bool wants_to_write() const { return is_open(input) && (written_ < unwritten_.size() || ends_); }
  // Both in bytes since the beginning: what send() was given, and what of it has left, or is not wanted.
  std::uint64_t sent() const { return gone_ + unwritten_.size(); }
  std::uint64_t gone() const { return gone_ + written_; }

  // Reads what is there, up to a bound: whether there may be more. At its end the stream is closed.
  bool read(Stream stream, const std::function<void(BytesView)>& take);

  bool input_watched = false;  // by the poller

 private:
  std::array<Descriptor, 3> own_;
  Bytes unwritten_;
  std::size_t written_ = 0;  // of unwritten_
  std::uint64_t gone_ = 0;   // bytes that left before unwritten_ began
  bool ends_ = false;
};

}  // namespace tenure::exec
