#pragma once

// A worker's process of a benchmark, and the events that it prints.

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/bench/place.h"

namespace tenure::cli {

class WorkProcess {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `words`: the command, such as work, and its flags. The pool, --json and the program to run are added.
  WorkProcess(const BenchSpot& spot, std::vector<std::string> words);
  ~WorkProcess();
  WorkProcess(const WorkProcess&) = delete;
  WorkProcess& operator=(const WorkProcess&) = delete;

  // The time of the event's `count`-th occurrence, or nothing if it did not come in time.
  std::optional<Time> wait(const std::string& event, std::size_t count);
  std::size_t count(const std::string& event);

  // Kills with -9. If the guard is killed too, only the lease is left.
  void kill(bool with_guard);

 private:
  void read(int in);

  pid_t process_ = -1;
  std::thread reader_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<Time>> events_;  // guarded by mutex_
  bool over_ = false;                                // guarded by mutex_
};

}  // namespace tenure::cli
