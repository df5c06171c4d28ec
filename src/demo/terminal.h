#pragma once

// Takes over the terminal for a full-screen view. The destructor restores it, and so do the handlers of signals that
// end a process at once. Belongs to one thread; there is one at a time.

#include <string>
#include <vector>

#include "demo/view.h"

namespace tenure::demo {

class Terminal {
 public:
  // True if standard input and output are a terminal that supports drawing.
  static bool there();

  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // From NO_COLOR and TERM.
  bool colour() const { return colour_; }
  ScreenSize size() const;
  // Writes the differences to the last frame in one call, to avoid flicker. Writes everything after a change of size.
  void show(const std::vector<std::string>& rows, const ScreenSize& size);

 private:
  const bool colour_;
  ScreenSize shown_size_{0, 0};
  std::vector<std::string> shown_;
};

}  // namespace tenure::demo
