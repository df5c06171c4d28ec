#include "orders/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/descriptor.h"

namespace tenure::orders {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kChunkBytes = 64U << 10;

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(Errc::refused, "run program", std::strerror(errno));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> found;
  for (const std::string& text : texts) found.push_back(const_cast<char*>(text.c_str()));
  found.push_back(nullptr);
  return found;
}

// Between fork and exec.
[[noreturn]] void become_child(const ChildPlan& plan, const sigset_t& before, int input, int output, int trouble) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
  const int nowhere = plan.quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : STDERR_FILENO;
  const bool placed = dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
                      (!plan.quiet || dup2(nowhere, STDERR_FILENO) >= 0);
  if (placed) {
    std::vector<char*> words = pointers_to(plan.words);
    std::vector<char*> environment = pointers_to(plan.environment);
    execvpe(words[0], words.data(), environment.data());
  }
  const int why = errno;
  (void)!::write(trouble, &why, sizeof why);
  _exit(127);
}

// One run. Its signals are blocked from construction to destruction.
class ChildRun {
 public:
  explicit ChildRun(const ChildPlan& plan) : plan_(plan) {
    sigset_t heard;
    sigemptyset(&heard);
    sigaddset(&heard, SIGCHLD);
    sigaddset(&heard, SIGTERM);
    sigprocmask(SIG_BLOCK, &heard, &before_);
    signals_ = Descriptor(signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  // A SIGTERM that was sent to the group meanwhile was heard.
  ~ChildRun() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  ChildRun(const ChildRun&) = delete;
  ChildRun& operator=(const ChildRun&) = delete;

  Status start() {
    Result<Pipe> input = make_pipe();
    Result<Pipe> output = input ? make_pipe() : Result<Pipe>(Failure(input.error()));
    Result<Pipe> trouble = output ? make_pipe() : Result<Pipe>(Failure(output.error()));
    if (!trouble) return Failure(trouble.error());
    begun_ = SteadyClock::now();
    child_ = fork();
    if (child_ < 0) return fail(Errc::refused, "run program", std::strerror(errno));
    if (child_ == 0) become_child(plan_, before_, input->read.get(), output->write.get(), trouble->write.get());
    trouble->write.close();
    int why = 0;
    if (::read(trouble->read.get(), &why, sizeof why) == static_cast<ssize_t>(sizeof why)) {
      waitpid(child_, nullptr, 0);
      return fail(Errc::refused, "run program", "cannot run '" + plan_.words.front() + "': " + std::strerror(why));
    }
    input_ = std::move(input->write);
    output_ = std::move(output->read);
    fcntl(input_.get(), F_SETFL, O_NONBLOCK);
    fcntl(output_.get(), F_SETFL, O_NONBLOCK);
    if (plan_.input.empty()) input_.close();
    return {};
  }

  ChildEnd wait() {
    SteadyClock::time_point limit = begun_ + plan_.time;
    while (!reaped_) {
      std::array<pollfd, 3> waited{{{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                                    {.fd = output_.get(), .events = POLLIN, .revents = 0},
                                    {.fd = input_.get(), .events = POLLOUT, .revents = 0}}};
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - SteadyClock::now()).count();
      poll(waited.data(), waited.size(), static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, 3'600'000)));
      if (waited[1].revents != 0) take_output();
      if (waited[2].revents != 0) give_input();
      hear();
      if (!reaped_ && SteadyClock::now() >= limit) {
        ::kill(end_.timed_out ? child_ : 0, end_.timed_out ? SIGKILL : SIGTERM);
        end_.timed_out = true;
        limit = SteadyClock::now() + kKillAfter;
      }
    }
    // What is in the pipe by now belongs to it. Others may hold its end open.
    for (int i = 0; i < kDrains && take_output(); ++i) {
    }
    end_.duration = std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - begun_);
    return std::move(end_);
  }

 private:
  static constexpr int kDrains = 32;

  // False if there is nothing more now.
  bool take_output() {
    if (!output_) return false;
    static std::array<char, kChunkBytes> chunk;
    const ssize_t count = ::read(output_.get(), chunk.data(), chunk.size());
    if (count > 0) {
      const BytesView bytes(chunk.data(), static_cast<std::size_t>(count));
      end_.output += bytes.substr(0, plan_.output_bytes - std::min(plan_.output_bytes, end_.output.size()));
      end_.output_bytes += bytes.size();
      return true;
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) output_.close();
    return false;
  }

  // A program need not read its input.
  void give_input() {
    const ssize_t count = ::write(input_.get(), plan_.input.data() + given_, plan_.input.size() - given_);
    if (count > 0) given_ += static_cast<std::size_t>(count);
    if ((count < 0 && errno != EAGAIN && errno != EINTR) || given_ == plan_.input.size()) input_.close();
  }

  void hear() {
    signalfd_siginfo heard{};
    while (::read(signals_.get(), &heard, sizeof heard) == static_cast<ssize_t>(sizeof heard)) {
      if (heard.ssi_signo == SIGTERM && !end_.timed_out) end_.stopped = true;
    }
    reaped_ = waitpid(child_, &end_.status, WNOHANG) == child_;
  }

  const ChildPlan& plan_;
  sigset_t before_{};
  Descriptor signals_;
  Descriptor input_;
  Descriptor output_;
  pid_t child_ = -1;
  SteadyClock::time_point begun_{};
  std::size_t given_ = 0;
  bool reaped_ = false;
  ChildEnd end_;
};

}  // namespace

Result<ChildEnd> run_child(const ChildPlan& plan) {
  std::signal(SIGPIPE, SIG_IGN);
  ChildRun run(plan);
  if (Status started = run.start(); !started) return Failure(started.error());
  return run.wait();
}

}  // namespace tenure::orders
