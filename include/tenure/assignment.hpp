#pragma once

// A user's own rule for which worker a key belongs to.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace tenure {

struct WorkerView {
  std::string_view id;
  std::uint32_t weight;
};

// Gives the index of the worker that should hold the key, of workers sorted by age, eldest first; there is at least
// one. It is asked on one node, and what it says is written to the log, so that all nodes agree; it is asked again
// for every key when workers come or go. It runs on the node's own thread and must be quick.
using ChooseWorker = std::function<std::size_t(std::string_view key, const std::vector<WorkerView>& workers)>;

}  // namespace tenure
