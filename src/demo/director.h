#pragma once

// Plays the acts: starts, kills, freezes and replaces workers, waits for the pool to react, and describes the result.
// Belongs to the thread that owns the crew, except where a comment allows any thread.

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "demo/bookkeeper.h"
#include "demo/chronicle.h"
#include "demo/crew.h"
#include "demo/figures.h"
#include "demo/inbox.h"
#include "demo/ledger.h"
#include "demo/picture.h"

namespace tenure::demo {

class Director {
 public:
  // `probe` is a handle of the ledger for the director alone.
  Director(Crew& crew, Picture& picture, const Bookkeeper& bookkeeper, Chronicle& chronicle, Inbox& inbox,
           Ledger& probe, Nanos lease);

  // Starts the first workers, and waits until the pool has them.
  Status gather(int workers);
  // Plays one of kActs. Returns when the pool has reacted, or early when the demo ends.
  void play(char act);
  // Does what is due between acts: starts workers that should come back, and notices processes that have exited.
  void attend();
  // Waits until nothing is in progress or scheduled. False when the demo ends, or after `patience`.
  bool wait_settled(Nanos patience);

  // What the deploys of a bad version have done.
  BadDeploys bad_deploys() const;  // any thread

  std::uint64_t rounds() const { return rounds_; }  // any thread

 private:
  static constexpr Nanos kJoin = std::chrono::seconds(15);

  // A worker that will be started, or was started and has no keys yet.
  struct Arrival {
    int slot = 0;
    Instant due{};
    std::string id{};  // set when it is started
    std::uint64_t moves_before = 0;
  };

  void kill_one();
  void freeze_one();
  void rolling_restart();
  void bad_deploy();
  void add_one();
  void remove_one();

  bool stand_still(const std::string& id);
  void tell_refused(const std::string& id, std::uint64_t refused_before);
  bool replace(const Member& old);
  std::optional<Member> replace_badly(const Member& old);
  bool replace_both(const Member& bad, const Member& old);
  std::vector<double> gaps_since(std::size_t samples) const;
  bool wait_quiet();
  bool moved_away(const std::string& id, Nanos patience);
  bool wait(Nanos patience, const std::function<bool()>& reached);
  std::optional<Member> next_victim();
  bool joined(const std::string& id) const;

  Crew& crew_;
  Picture& picture_;
  const Bookkeeper& bookkeeper_;
  Chronicle& chronicle_;
  Inbox& inbox_;
  Ledger& probe_;
  const Nanos lease_;
  const BootClock clock_;
  std::vector<Arrival> arrivals_;
  int last_victim_ = 0;  // the slot of the last victim
  std::atomic<std::uint64_t> rounds_ = 0;
  mutable std::mutex mutex_;
  BadDeploys bad_deploys_;  // guarded by mutex_
};

}  // namespace tenure::demo
