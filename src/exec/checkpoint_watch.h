#pragma once

// Tells which programs have renamed a file to `checkpoint` in their folder. If the kernel's watches are used up,
// checkpoints are still read when the program ends.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace tenure::exec {

// Belongs to the host's thread.
class CheckpointWatch {
 public:
  CheckpointWatch();

  int descriptor() const { return notify_.get(); }
  void add(std::uint64_t program, const std::string& folder);
  void remove(std::uint64_t program);
  // Does not block.
  std::vector<std::uint64_t> changed();

 private:
  Descriptor notify_;
  std::map<int, std::uint64_t> programs_;
  std::map<std::uint64_t, int> watches_;
};

}  // namespace tenure::exec
