#pragma once

// The terminal, taken over for a full-screen view and given back as it was: by the destructor, and by the handlers of
// signals that end a process at once. Belongs to one thread; there is one at a time.

#include <string>
#include <vector>

#include "demo/view.h"

namespace tenure::demo {

class Terminal {
 public:
  // Whether standard input and output are a terminal that can be drawn on.
  static bool there();

  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // From NO_COLOR and TERM.
  bool colour() const { return colour_; }
  ScreenSize size() const;
  // Writes what differs from the last frame, at once, so that nothing flickers. After a change of size, everything.
  void show(const std::vector<std::string>& rows, const ScreenSize& size);

 private:
  const bool colour_;
  ScreenSize shown_size_{0, 0};
  std::vector<std::string> shown_;
};

}  // namespace tenure::demo
