#pragma once

// A control group (v2) for a worker's guard and everything that it starts. A process cannot leave it by a fork, by a
// new session or by killing its ancestors, and `cgroup.kill` ends all of it at once.
//
//   PARENT/tenure-PID-RANDOM     guard, keepers, programs
//
// The worker creates the group and holds a lock on its directory. Its guard shares the lock. A group with a free lock
// was left by dead processes: before the next worker in the same PARENT starts a program, it ends everything in that
// group and removes it.

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/result.h"

namespace tenure::guard {

// Thread-safe.
class Cgroup {
 public:
  // Creates a group below `parent`. If that is empty, below the group of this process.
  static Result<std::unique_ptr<Cgroup>> create(std::string parent);
  ~Cgroup();
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  const std::string& path() const { return path_; }
  int lock() const { return lock_.get(); }
  Status admit(pid_t process) const;
  // True once the group is empty.
  bool kill() const;
  // Ends and removes groups that dead workers have left in the same parent. False if something is still there.
  bool end_left_behind() const;

 private:
  Cgroup(std::string parent, std::string path, Descriptor lock)
      : parent_(std::move(parent)), path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string parent_;
  const std::string path_;
  const Descriptor lock_;
};

// True if this process is the only one in the group, and there are no groups in it.
bool alone_in_cgroup(const std::string& path);
// For the end of the guard: leaves the group, ends everything that is left in it, and removes it.
void leave_cgroup(const std::string& path);

}  // namespace tenure::guard
