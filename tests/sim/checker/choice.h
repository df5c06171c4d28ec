#pragma once

// The users' function of a run with chosen assignment: which worker a key belongs to. It looks at names alone, so that
// it can be computed by whoever knows them. For some keys it fails.

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tenure/assignment.hpp>
#include <vector>

#include "base/bytes.h"

namespace tenure::sim {

struct Choice {
  bool any = false;    // there is a function
  bool fails = false;  // for one key in four

  bool fails_for(std::string_view key) const { return fails && hash_bytes(key) % 4 == 0; }
  bool decides(std::string_view key) const { return any && !fails_for(key); }

  // Of a list that is not empty.
  std::size_t of(std::string_view key, const std::vector<std::string_view>& workers) const {
    const auto worth = [&](std::string_view worker) { return hash_mix(hash_bytes(worker), hash_bytes(key)); };
    const auto best = std::max_element(workers.begin(), workers.end(),
                                       [&](auto left, auto right) { return worth(left) < worth(right); });
    return static_cast<std::size_t>(best - workers.begin());
  }

  ChooseWorker function() const {
    return [choice = *this](std::string_view key, const std::vector<WorkerView>& workers) {
      if (choice.fails_for(key)) {
        if (hash_bytes(key) % 8 == 0) throw std::runtime_error("no idea");
        return workers.size() + 3;
      }
      std::vector<std::string_view> ids;
      ids.reserve(workers.size());
      for (const WorkerView& worker : workers) ids.push_back(worker.id);
      return choice.of(key, ids);
    };
  }
};

}  // namespace tenure::sim
