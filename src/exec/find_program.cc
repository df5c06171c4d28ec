#include "exec/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tenure::exec {
namespace {

// Zero, or why not.
int check(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return errno;
  if (!S_ISREG(found.st_mode)) return EACCES;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

}  // namespace

Status find_program(const std::string& name) {
  int why = name.empty() ? ENOENT : 0;
  if (name.find('/') != std::string::npos) {
    why = check(name);
  } else if (!name.empty()) {
    const char* variable = std::getenv("PATH");
    const std::string path = variable == nullptr ? "/bin:/usr/bin" : variable;
    why = ENOENT;
    for (std::size_t at = 0; at <= path.size() && why != 0;) {
      const std::size_t end = std::min(path.find(':', at), path.size());
      const std::string folder = end == at ? "." : path.substr(at, end - at);
      const int found = check(folder + "/" + name);
      if (found == 0 || found == EACCES) why = found;
      at = end + 1;
    }
  }
  if (why == 0) return {};
  return fail(Errc::invalid, "find program", "cannot run '" + name + "': " + std::strerror(why));
}

}  // namespace tenure::exec
