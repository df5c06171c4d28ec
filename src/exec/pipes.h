#pragma once

// The worker's ends of a program's standard streams, and the bytes to be written to it.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/result.h"

namespace tenure::exec {

// Belongs to the host's thread.
class Pipes {
 public:
  enum Stream : std::uint8_t { input = 0, output = 1, errors = 2 };

  // Creates the pipes and returns the program's ends, in order. The caller passes them on and closes them. With a file,
  // the program reads that instead of a pipe, and nothing can be sent to it.
  Result<std::vector<Descriptor>> open(const std::string& input_file = {});
  int descriptor(Stream stream) const { return own_.at(stream).get(); }
  bool is_open(Stream stream) const { return static_cast<bool>(own_.at(stream)); }

  // Adds bytes for write(). The caller bounds them.
  void send(Bytes bytes);
  // Closes the input once everything is written.
  void end_input() { ends_ = true; }
  // Writes as much as the pipe takes. Drops everything if the program has closed its input or is gone.
  void write();
  bool wants_to_write() const { return is_open(input) && (written_ < unwritten_.size() || ends_); }
  // Both count bytes since the start: passed to send(), and written or dropped.
  std::uint64_t sent() const { return gone_ + unwritten_.size(); }
  std::uint64_t gone() const { return gone_ + written_; }

  // Reads what is available, up to a limit. True if there may be more. Closes the stream at its end.
  bool read(Stream stream, const std::function<void(BytesView)>& take);

  bool input_watched = false;  // by the poller

 private:
  std::array<Descriptor, 3> own_;
  Bytes unwritten_;
  std::size_t written_ = 0;  // of unwritten_
  std::uint64_t gone_ = 0;   // bytes written before the start of unwritten_
  bool ends_ = false;
};

}  // namespace tenure::exec
