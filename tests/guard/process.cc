#include "guard/process.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

#include "guard/process_tree.h"

namespace tenure::guard {

Watched::Watched(pid_t process) : process_(process), handle_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {}

bool Watched::dies_within(Nanos span) const {
  if (!handle_) return true;
  pollfd waited{.fd = handle_.get(), .events = POLLIN, .revents = 0};
  return poll(&waited, 1, static_cast<int>(to_ms(span))) > 0;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

std::size_t children(pid_t process) { return children_of(process).size(); }

}  // namespace tenure::guard
