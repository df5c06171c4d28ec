#include "demo/console.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>

#include "demo/demo.h"

namespace tenure::demo {
namespace {

constexpr std::chrono::milliseconds kFrame{100};

}  // namespace

Console::Console(Inbox& inbox) : inbox_(inbox) {
  sigset_t heard;
  sigemptyset(&heard);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) sigaddset(&heard, number);
  pthread_sigmask(SIG_BLOCK, &heard, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_ = ::signalfd(-1, &heard, SFD_NONBLOCK | SFD_CLOEXEC);
  wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

Console::~Console() {
  stop();
  ::close(signals_);
  ::close(wake_);
}

void Console::start(bool live, Gather gather) {
  if (live) terminal_ = std::make_unique<Terminal>();
  thread_ = std::thread([this, gather = std::move(gather)] { run(terminal_.get(), gather); });
}

void Console::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  thread_.join();
  terminal_.reset();
}

void Console::run(Terminal* terminal, const Gather& gather) {
  using Steady = std::chrono::steady_clock;
  Steady::time_point next = Steady::now();
  while (!stopping_) {
    if (terminal != nullptr && Steady::now() >= next) {
      const ScreenSize size = terminal->size();
      terminal->show(draw(gather(explained_), size, terminal->colour()), size);
      next = Steady::now() + kFrame;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Steady::now()).count();
    pollfd waits[3] = {{signals_, POLLIN, 0}, {wake_, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    const nfds_t count = terminal != nullptr ? 3 : 2;
    ::poll(waits, count, terminal != nullptr ? static_cast<int>(std::max<decltype(left)>(left, 0)) : -1);
    if (waits[0].revents != 0) hear_signals();
    if (count == 3 && waits[2].revents != 0) hear_keys();
  }
}

void Console::hear_signals() {
  signalfd_siginfo heard{};
  while (::read(signals_, &heard, sizeof heard) == sizeof heard) {
    // The next frame uses the new size.
    if (heard.ssi_signo != SIGWINCH) inbox_.quit();
  }
}

void Console::hear_keys() {
  char keys[64];
  const ssize_t count = ::read(STDIN_FILENO, keys, sizeof keys);
  if (count <= 0) return inbox_.quit();  // the terminal is gone
  std::string_view typed(keys, static_cast<std::size_t>(count));
  while (!typed.empty()) {
    // Arrow keys come as ESC [ and a letter. ESC alone closes what is open.
    if (typed.size() >= 3 && typed[0] == '\x1b' && (typed[1] == '[' || typed[1] == 'O')) {
      if (explained_ && (typed[2] == 'C' || typed[2] == 'B')) ++*explained_;
      if (explained_ && *explained_ > 0 && (typed[2] == 'D' || typed[2] == 'A')) --*explained_;
      typed.remove_prefix(3);
      continue;
    }
    press(typed[0]);
    typed.remove_prefix(1);
  }
}

void Console::press(char key) {
  constexpr char kControlC = 3;
  if (key == 'q' || key == kControlC) return inbox_.quit();
  if (key == 'e') {
    explained_ = explained_ ? std::nullopt : std::optional<std::size_t>(0);
  } else if (key == '\x1b') {
    explained_.reset();
  } else if (std::strchr(kActs, key) != nullptr && key != '\0') {
    inbox_.put(key);
  } else if (key == '=') {
    inbox_.put('+');  // the same key without shift
  }
}

}  // namespace tenure::demo
