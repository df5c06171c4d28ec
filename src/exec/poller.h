#pragma once

// Waits for descriptors for a host's thread, each with a tag (host_tags.h).

#include <cstdint>
#include <vector>

#include "base/descriptor.h"
#include "exec/pipes.h"

namespace tenure::exec {

// Belongs to one thread.
class Poller {
 public:
  Poller();

  void watch(int descriptor, std::uint64_t tag, std::uint32_t events) const;
  void unwatch(int descriptor) const;
  void watch_outputs(std::uint64_t program, const Pipes& pipes) const;
  // Waits for space in the pipe only while there is something to write.
  void watch_input(std::uint64_t program, Pipes& pipes) const;

  // Returns the tags of ready descriptors, valid until the next call.
  const std::vector<std::uint64_t>& wait(int wait_ms);

 private:
  const Descriptor poll_;
  std::vector<std::uint64_t> ready_;
};

}  // namespace tenure::exec
