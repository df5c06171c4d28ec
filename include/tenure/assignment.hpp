#pragma once

// A user-defined rule that chooses the worker of each key (Assignment::chosen).

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace tenure {

struct WorkerView {
  std::string_view id;
  std::uint32_t weight;
};

// Returns the index of the worker that should hold the key. `workers` has those that take the key's job, sorted by age,
// eldest first, and is never empty. One node calls the function and writes the result to the log, so that all nodes
// agree: the eldest of those that have one. It is called again for every key when a worker joins or leaves. It runs on
// the node's thread and must be quick. If it throws, or returns an index that is out of range, the logger gets an
// error, and the key is placed by rendezvous hashing. So are all keys while no node has a function.
using ChooseWorker = std::function<std::size_t(std::string_view key, const std::vector<WorkerView>& workers)>;

}  // namespace tenure
