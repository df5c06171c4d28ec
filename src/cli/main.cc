// The program's main(). The commands are in commands.cc.

#include <algorithm>
#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include "base/mask_login.h"
#include "base/output.h"
#include "cli/command.h"
#include "cli/first_process.h"

int main(int count, char** arguments) {
  // Writing to a pipe without a reader must be an error of that write, and must not end the workers.
  std::signal(SIGPIPE, SIG_IGN);
  // So must be a file that would become larger than `ulimit -f`: it counts as a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  tenure::cli::split_first_process();
  try {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    std::for_each(arguments + 1, arguments + count, tenure::mask_login_in_place);
    return tenure::cli::run_program(words);
  } catch (const std::exception& error) {
    tenure::warn_line(std::string("tenure: ") + error.what());
    return 1;
  }
}
