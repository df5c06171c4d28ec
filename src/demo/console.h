#pragma once

// Between the demo and the one who watches it: a thread that hears signals and keys and, on a terminal, draws.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "demo/inbox.h"
#include "demo/scene.h"
#include "demo/terminal.h"

namespace tenure::demo {

class Console {
 public:
  // What to draw; `explained` says which tenant is to be explained, if any. Called on the console's thread.
  using Gather = std::function<Scene(std::optional<std::size_t> explained)>;

  // Blocks the signals it hears in the calling thread; so it is made before any other thread. Until it is started a
  // signal waits.
  explicit Console(Inbox& inbox);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // On a terminal if `live`, otherwise it only hears signals.
  void start(bool live, Gather gather);
  // Draws no more, and gives the terminal back.
  void stop();

 private:
  void run(Terminal* terminal, const Gather& gather);
  void hear_signals();
  void hear_keys();
  void press(char key);

  Inbox& inbox_;
  int signals_ = -1;
  int wake_ = -1;
  std::unique_ptr<Terminal> terminal_;
  std::optional<std::size_t> explained_;  // the thread's own
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace tenure::demo
