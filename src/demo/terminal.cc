#include "demo/terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace tenure::demo {
namespace {

// Alternate screen, no cursor, no wrapping at the right edge; and the way back.
constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr char kLeave[] = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr int kFatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

// For the signal handlers, which must not allocate.
termios before;
volatile sig_atomic_t taken_over = 0;

void write_all(const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the terminal is gone
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
}

// Safe in a signal handler.
void give_back() {
  if (taken_over == 0) return;
  taken_over = 0;
  write_all(kLeave, sizeof kLeave - 1);
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

void on_fatal(int number) {
  give_back();
  ::signal(number, SIG_DFL);
  ::raise(number);
}

bool wants_colour() {
  const char* refused = std::getenv("NO_COLOR");
  return refused == nullptr || *refused == '\0';
}

}  // namespace

bool Terminal::there() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 &&
         (kind == nullptr || std::strcmp(kind, "dumb") != 0);
}

Terminal::Terminal() : colour_(wants_colour()) {
  ::tcgetattr(STDIN_FILENO, &before);
  taken_over = 1;
  for (const int number : kFatal) ::signal(number, on_fatal);
  termios raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
  write_all(kEnter, sizeof kEnter - 1);
}

Terminal::~Terminal() { give_back(); }

ScreenSize Terminal::size() const {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) return {};
  return {window.ws_col, window.ws_row};
}

void Terminal::show(const std::vector<std::string>& rows, const ScreenSize& size) {
  std::string bytes;
  if (size != shown_size_) {
    bytes += "\x1b[0m\x1b[2J";
    shown_.clear();
    shown_size_ = size;
  }
  shown_.resize(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row] == shown_[row]) continue;
    bytes += "\x1b[" + std::to_string(row + 1) + ";1H" + rows[row] + "\x1b[K";
  }
  shown_ = rows;
  write_all(bytes.data(), bytes.size());
}

}  // namespace tenure::demo
