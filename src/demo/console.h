#pragma once

// Connects the demo with its user: a thread that receives signals and keys and, on a terminal, draws.

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
  // Returns what to draw. `explained` is the tenant to explain, if any. Called on the console's thread.
  using Gather = std::function<Scene(std::optional<std::size_t> explained)>;

  // Blocks its signals in the calling thread, so construct it before any other thread. Signals wait until start().
  explicit Console(Inbox& inbox);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // If `live`, draws on the terminal. Otherwise it only receives signals.
  void start(bool live, Gather gather);
  // Stops drawing and restores the terminal.
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
  std::optional<std::size_t> explained_;  // used by the console's thread only
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace tenure::demo
