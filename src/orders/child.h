#pragma once

// Runs one program to its end, with bounds on its time and on the output that is kept. For a process that does nothing
// else meanwhile: it has one thread, and hears of its child and of SIGTERM through a descriptor.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tenure::orders {

struct ChildPlan {
  std::vector<std::string> words{};        // the program, found by PATH, and its arguments
  std::vector<std::string> environment{};  // NAME=VALUE
  Bytes input{};                           // its standard input, and then the end
  std::chrono::milliseconds time{0};
  std::size_t output_bytes = 0;  // that are kept; what is above is read and counted
  bool quiet = false;            // its standard error goes nowhere; otherwise it is this process's
};

struct ChildEnd {
  int status = 0;  // as from waitpid
  bool timed_out = false;
  bool stopped = false;  // this process got a SIGTERM meanwhile, and the child is in its group
  Bytes output{};        // the first bytes of it
  std::uint64_t output_bytes = 0;
  std::chrono::milliseconds duration{0};
};

// Errc::refused: the program cannot be started.
//
// At the end of its time the process group, which includes this process, gets a SIGTERM, and kKillAfter later the child
// a SIGKILL. What the child leaves running is not waited for. The keeper of this process ends it.
Result<ChildEnd> run_child(const ChildPlan& plan);

constexpr std::chrono::seconds kKillAfter{5};

}  // namespace tenure::orders
