#pragma once

// The worker processes. A worker has a slot, which determines its colour and its share of the keys, and a generation:
// `w2` is the first in slot 2, `w2.3` the third.
//
// Any thread may read. Everything else belongs to the thread that constructed it, which must outlive the workers.

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "demo/worker_command.h"

namespace tenure::demo {

struct Member {
  enum class State : std::uint8_t { up, frozen, leaving, killed };

  int slot = 0;
  std::string id{};
  pid_t process = -1;
  State state = State::up;
};

struct Departure {
  Member member;
  std::string how{};  // "exit code 1", for people
  bool expected = false;
};

class Crew {
 public:
  // `common` is the command that all workers share, and `program` is the program to run. Their standard error goes to
  // files below `folder`.
  Crew(WorkerCommand common, std::string program, std::string folder);
  ~Crew();  // kills them all
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Starts a worker that replaces `replaced`, which then hands over its keys. If `replaced` is empty, it replaces the
  // last worker of the slot.
  enum class Version : std::uint8_t { good, bad };  // a bad one cannot start anything
  Result<Member> start(int slot, const std::string& replaced = {}, Version version = Version::good);
  // Each returns the moment, read just before the signal.
  Instant kill(const std::string& id);
  Instant freeze(const std::string& id);  // waits until the process is stopped
  void thaw(const std::string& id);
  void leave(const std::string& id);

  std::vector<Departure> reap();
  std::vector<Member> members() const;
  std::optional<Member> find(const std::string& id) const;
  // The workers in state `up`, by slot.
  std::vector<Member> standing() const;
  bool empty() const;
  // The end of the worker's standard error.
  std::string last_words(const std::string& id) const;

 private:
  void signal(const std::string& id, int number, Member::State state);

  const WorkerCommand common_;
  const std::string program_;
  const std::string folder_;
  const BootClock clock_;
  std::vector<int> generations_;  // by slot
  mutable std::mutex mutex_;
  std::vector<Member> members_;  // guarded by mutex_; by slot and age
};

}  // namespace tenure::demo
