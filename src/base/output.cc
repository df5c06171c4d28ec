#include "base/output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/printable.h"

namespace tenure {

std::string one_line(BytesView text) {
  constexpr std::size_t kColumnsOfByteMax = 4;
  if (text.size() <= kLineColumnsMax / kColumnsOfByteMax) return printable(text);
  const BytesView kept = printable_prefix(text, kLineColumnsMax);
  std::string line = printable(kept);
  if (kept.size() < text.size()) line += "… (" + std::to_string(text.size() - kept.size()) + " bytes more)";
  return line;
}

void print_line(BytesView text) { write_exact(STDOUT_FILENO, one_line(text) + '\n'); }

void warn_line(BytesView text) { write_exact(STDERR_FILENO, one_line(text) + '\n'); }

// A pipe that is reported as writable has room for this many bytes.
void warn_at_once(BytesView text) {
  pollfd room{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&room, 1, 0) <= 0) return;
  std::string line = one_line(text);
  line.resize(std::min<std::size_t>(line.size(), PIPE_BUF - 1));
  line += '\n';
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

// If the reader is gone, ignore the error: the program need not end, and nobody can be told.
void write_exact(int descriptor, BytesView bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {  // another process made the shared pipe non-blocking
      pollfd room{.fd = descriptor, .events = POLLOUT, .revents = 0};
      ::poll(&room, 1, -1);
    } else if (written == 0 || errno != EINTR) {
      return;
    }
  }
}

}  // namespace tenure
