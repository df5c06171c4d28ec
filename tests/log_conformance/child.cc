#include "log_conformance/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "base/assert.h"
#include "log_conformance/waiting.h"

namespace tenure::conformance {

Child::Child(const std::string& program, const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  ASSERT(pipe2(ends.data(), O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<char*> argv;
  argv.push_back(const_cast<char*>(program.c_str()));
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ASSERT(posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  output_ = ends[0];
}

Child::~Child() {
  if (!reaped_) {
    signal(SIGKILL);
    wait();
  }
  ::close(output_);
}

std::optional<std::string> Child::line() {
  return line_within(static_cast<int>(std::chrono::milliseconds(kDeadline).count()));
}

std::optional<std::string> Child::line_at_hand() { return line_within(0); }

std::optional<std::string> Child::line_within(int patience_ms) {
  for (;;) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string found = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return found;
    }
    pollfd waited{.fd = output_, .events = POLLIN, .revents = 0};
    if (poll(&waited, 1, patience_ms) <= 0) return std::nullopt;
    std::array<char, 65536> buffer{};
    const ssize_t size = ::read(output_, buffer.data(), buffer.size());
    if (size <= 0) return std::nullopt;
    unread_.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

void Child::signal(int number) const { ::kill(pid_, number); }

int Child::wait() {
  int status = 0;
  ASSERT(waitpid(pid_, &status, 0) == pid_);
  reaped_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace tenure::conformance
