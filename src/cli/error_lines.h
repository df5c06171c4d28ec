#pragma once

// Copies the standard error of worker programs to ours, line by line, bounded and printable. The programs get a pipe
// instead of the terminal or the log file that we write to.

#include <thread>

#include "base/descriptor.h"
#include "base/result.h"

namespace tenure::cli {

// Covers the programs that the process starts while this object lives.
class ErrorLines {
 public:
  static Result<ErrorLines> open();
  ErrorLines(ErrorLines&& other) = default;
  // Does not wait for the end of the pipe, because programs that still run keep it open.
  ~ErrorLines();

 private:
  ErrorLines(Descriptor lines, Descriptor stop);

  Descriptor stop_;
  std::thread thread_;
};

}  // namespace tenure::cli
