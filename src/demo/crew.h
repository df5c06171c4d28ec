#pragma once

// The worker processes. A worker has a slot, which gives it its colour and its share of the keys, and a generation:
// `w2` is the first in slot 2, `w2.3` the third.
//
// Thread-safe for looking; everything else belongs to the thread that made it, which must outlive the workers.

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
  // `common` is what all workers are told; `program` runs them; their standard error goes below `folder`.
  Crew(WorkerCommand common, std::string program, std::string folder);
  ~Crew();  // kills them all
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // In the place of `replaced`, which then hands over its keys; of whoever was last in the slot where it is empty.
  Result<Member> start(int slot, const std::string& replaced = {});
  // Each gives the moment, read just before.
  Instant kill(const std::string& id);
  Instant freeze(const std::string& id);  // waits until it stands still
  void thaw(const std::string& id);
  void leave(const std::string& id);

  std::vector<Departure> reap();
  std::vector<Member> members() const;
  std::optional<Member> find(const std::string& id) const;
  // Those in state `up`, by slot.
  std::vector<Member> standing() const;
  bool empty() const;
  // What the worker wrote last to its standard error.
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
