#pragma once

// What worker programs write on their standard error, on ours: line by line, bounded and printable. They are given a
// pipe in place of the terminal or the log that we write to ourselves.

#include <thread>

#include "base/descriptor.h"
#include "base/result.h"

namespace tenure::cli {

// Of the programs that the process starts while this lives.
class ErrorLines {
 public:
  static Result<ErrorLines> open();
  ErrorLines(ErrorLines&& other) = default;
  // Programs that still run keep the pipe open, so that its end is not waited for.
  ~ErrorLines();

 private:
  ErrorLines(Descriptor lines, Descriptor stop);

  Descriptor stop_;
  std::thread thread_;
};

}  // namespace tenure::cli
