// What runs under the guard for each partition that a replica holds: starts the user's program again and again, until
// it fails or the partition is to go elsewhere. The guard ends both.

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/descriptor.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "machine/own_names.h"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kCannotRun = 127;
// The exit code by which a job's program says that it must not be tried again. A partition always is.
constexpr int kNeverAgain = 65;
constexpr int kTryLater = 75;

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The payload of a partition is how many there are.
std::string read_payload() {
  std::ifstream file(from_environment("TENURE_DIR") + "/payload");
  return {std::istreambuf_iterator<char>(file), {}};
}

pid_t start_program(const std::vector<std::string>& command) {
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<char*> words;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): execvp does not change them.
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  _exit(kCannotRun);
}

struct TurnEnd {
  int status = 0;        // as from waitpid
  bool stopped = false;  // a signal came: the partition is to go elsewhere
  bool too_long = false;
};

// When a turn must end.
struct TurnLimit {
  steady_clock::time_point deadline;  // SIGTERM
  milliseconds grace;                 // from then on, until SIGKILL
};

// A signal is passed on to the program alone, not to what it has started: otherwise a script could not end the item at
// hand. The guard ends the processes that the program leaves behind.
TurnEnd wait_for(pid_t child, const Signals& signals, const std::optional<TurnLimit>& limit) {
  TurnEnd end;
  const Descriptor handle(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  for (;;) {
    int timeout_ms = -1;
    if (limit) {
      const auto next = end.too_long ? limit->deadline + limit->grace : limit->deadline;
      const auto left = std::chrono::ceil<milliseconds>(next - steady_clock::now()).count();
      timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
    }
    std::array<pollfd, 2> ready{pollfd{handle.get(), POLLIN, 0}, pollfd{signals.descriptor(), POLLIN, 0}};
    ::poll(ready.data(), ready.size(), timeout_ms);
    if (ready[1].revents != 0 && signals.wait(0)) {
      end.stopped = true;
      kill(child, SIGTERM);
    }
    if (waitpid(child, &end.status, WNOHANG) == child) return end;
    if (!limit || steady_clock::now() < limit->deadline) continue;
    if (!std::exchange(end.too_long, true)) kill(child, SIGTERM);
    if (steady_clock::now() >= limit->deadline + limit->grace) kill(-child, SIGKILL);  // with all that it has started
  }
}

}  // namespace

int run_turns(const Call& call) {
  const Signals signals;
  const Result<milliseconds> rest = call.duration("rest", std::chrono::seconds(1));
  const Result<milliseconds> turn = call.duration("turn", milliseconds(0));
  const Result<milliseconds> grace = call.duration("grace", milliseconds(0));
  const std::optional<std::uint32_t> partition = partition_of_key(from_environment("TENURE_KEY"));
  if (!rest || !turn || !grace || !partition || call.rest.empty()) {
    return report_usage(call, {Errc::invalid, "", "this command is for `tenure partition`"});
  }
  setenv("TENURE_PARTITION", std::to_string(*partition).c_str(), 1);
  setenv("TENURE_PARTITIONS", read_payload().c_str(), 1);
  for (;;) {
    std::optional<TurnLimit> limit;
    if (call.has("turn")) {
      limit = TurnLimit{steady_clock::now() + *turn, *grace};
      const auto unix_ms = std::chrono::ceil<milliseconds>(std::chrono::system_clock::now().time_since_epoch() + *turn);
      setenv("TENURE_DEADLINE_MS", std::to_string(unix_ms.count()).c_str(), 1);
    }
    const pid_t child = start_program(call.rest);
    if (child < 0) return report(call, {Errc::unavailable, "start the program", std::strerror(errno)});
    const TurnEnd end = wait_for(child, signals, limit);
    if (end.stopped) return kDone;
    if (!end.too_long) {
      if (WIFSIGNALED(end.status)) return 128 + WTERMSIG(end.status);
      if (WEXITSTATUS(end.status) == kNeverAgain) {
        print_note("the program ended with exit code 65; a partition is tried again all the same");
        return kOther;
      }
      // One that cannot do its work now stays with the partition, and tries again after the rest.
      if (WEXITSTATUS(end.status) != 0 && WEXITSTATUS(end.status) != kTryLater) return WEXITSTATUS(end.status);
    }
    if (signals.wait(static_cast<int>(rest->count()))) return kDone;
  }
}

}  // namespace tenure::cli
