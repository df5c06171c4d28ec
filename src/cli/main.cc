// The program. What it can be asked to do is in commands.cc.

#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include "base/output.h"
#include "cli/command.h"

int main(int count, char** arguments) {
  // A reader that went away is an error of the write, not the end of the workers.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return tenure::cli::run_program({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    tenure::warn_line(std::string("tenure: ") + error.what());
    return 1;
  }
}
