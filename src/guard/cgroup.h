#pragma once

// A control group (v2) for a worker's guard and all that it starts. A process cannot leave it by forking, by a new
// session or by killing its ancestors, and `cgroup.kill` ends all of it at once.
//
//   PARENT/tenure-PID-RANDOM     guard, keepers, programs
//
// The worker makes the group and holds a lock on its directory; its guard shares the lock. A group whose lock is free
// is what dead processes have left behind: the next worker in the same PARENT ends what runs there, and removes it,
// before it starts a program of its own.

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
  // Below `parent`; where that is empty, below the group that this process is in.
  static Result<std::unique_ptr<Cgroup>> create(std::string parent);
  ~Cgroup();
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  const std::string& path() const { return path_; }
  int lock() const { return lock_.get(); }
  Status admit(pid_t process) const;
  // True once nobody is left in it.
  bool kill() const;
  // Ends and removes what dead workers have left in the same parent. False if something of it is still there.
  bool end_left_behind() const;

 private:
  Cgroup(std::string parent, std::string path, Descriptor lock)
      : parent_(std::move(parent)), path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string parent_;
  const std::string path_;
  const Descriptor lock_;
};

// Whether this process is the only one in the group, and there are no groups in it.
bool alone_in_cgroup(const std::string& path);
// For the guard, in the end: it leaves the group, ends whatever is left there, and removes it.
void leave_cgroup(const std::string& path);

}  // namespace tenure::guard
