#include "cli/error_lines.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "base/lines.h"
#include "cli/output.h"
#include "process/child_processes.h"

namespace tenure::cli {
namespace {

constexpr std::size_t kErrorLineBytesMax = 8U << 10;

// Reads what is available. False at the end of the pipe.
bool pass_on(int from, Lines& lines) {
  std::array<char, 16U << 10> bytes{};
  for (;;) {
    const ssize_t size = ::read(from, bytes.data(), bytes.size());
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size == 0) return false;
    lines.feed({bytes.data(), static_cast<std::size_t>(size)},
               [](BytesView line, bool) { print_note("worker | " + Bytes(line)); });
  }
}

void serve(int from, int stop) {
  Lines lines(kErrorLineBytesMax);
  std::array<pollfd, 2> waits{pollfd{from, POLLIN, 0}, pollfd{stop, POLLIN, 0}};
  bool open = true;
  while (open) {
    ::poll(waits.data(), waits.size(), -1);
    open = (waits[0].revents == 0 || pass_on(from, lines)) && waits[1].revents == 0;
  }
  lines.finish([](BytesView line, bool) { print_note("worker | " + Bytes(line)); });
}

}  // namespace

Result<ErrorLines> ErrorLines::open() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(Errc::unavailable, "make a pipe", std::strerror(errno));
  Descriptor own(ends[0]);
  Descriptor theirs(ends[1]);
  fcntl(own.get(), F_SETFL, O_NONBLOCK);
  Descriptor stop(eventfd(0, EFD_CLOEXEC));
  if (!stop) return fail(Errc::unavailable, "make a pipe", std::strerror(errno));
  process::ChildProcesses::use_errors(std::move(theirs));
  return ErrorLines(std::move(own), std::move(stop));
}

ErrorLines::ErrorLines(Descriptor lines, Descriptor stop)
    : stop_(std::move(stop)), thread_([from = std::move(lines), signal = stop_.get()] { serve(from.get(), signal); }) {}

ErrorLines::~ErrorLines() {
  if (!thread_.joinable()) return;
  process::ChildProcesses::use_errors({});
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

}  // namespace tenure::cli
