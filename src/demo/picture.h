#pragma once

// The pool according to the log: which worker holds which tenant, since when, and the cost of the moves. It listens to
// a node without workers, so it sees what every node sees.
//
// Thread-safe. The node's loop updates it.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "demo/moves.h"
#include "node/node.h"

namespace tenure::demo {

// One hold of a tenant, for the explanation on the screen.
struct PastHold {
  std::uint64_t epoch = 0;
  std::string worker{};
  Instant granted{};
  std::optional<Instant> started{};
  std::optional<Instant> ended{};
  std::string reason{};            // why it ended
  std::optional<double> gap_ms{};  // how long no worker ran it before
};

struct Tenant {
  enum class Phase : std::uint8_t { waiting, starting, running, stopping };

  Phase phase = Phase::waiting;
  std::string worker{};  // the holder, or the last one
  std::uint64_t session = 0;
  Instant since{};                    // in this phase
  std::optional<Instant> gap_from{};  // since when no worker runs it
  bool killed = false;                // because its holder was killed
  std::deque<PastHold> history{};     // oldest first
};

struct WorkerLife {
  std::uint64_t session = 0;
  Instant last_beat{};  // as received here
  bool unfit = false;
  std::uint64_t failed_starts = 0;
};

struct PoolPicture {
  std::map<std::string, Tenant> tenants{};
  std::map<std::string, WorkerLife> workers{};
  std::uint64_t moves = 0;
  std::uint64_t moves_needed = 0;
  std::uint64_t beats = 0;
  std::size_t alone = 0;       // tenants that no worker runs at the moment, after a move or a death
  std::size_t alone_most = 0;  // the largest such number since Picture::count_anew()
  bool moving = false;         // moves or starts are in progress
  Instant last_change{};

  std::size_t keys_of(const std::string& worker) const;
  bool all_running() const;
};

struct PictureTimes {
  std::vector<double> takeover_ms{};
  std::vector<double> gap_ms{};
};

class Picture final : public PoolWatcher {
 public:
  enum class Down : std::uint8_t { killed, frozen };

  explicit Picture(const std::vector<std::string>& keys);

  // From this moment on the worker runs nothing.
  void down(const std::string& worker, Down how, Instant at);

  PoolPicture copy() const;
  PictureTimes times() const;
  void count_anew();
  bool check(const std::function<bool(const PoolPicture&)>& reached) const;
  // Waits for the log to reach that state.
  bool wait(Nanos patience, const std::function<bool(const PoolPicture&)>& reached);

  // True if every tenant runs and nothing has moved for a little while. Moves are compared with the necessary ones at
  // such moments only.
  bool settle();

 private:
  struct Blow {
    Down how;
    Instant at;
  };

  void applied(const Machine& machine) override;
  void granted(const At&, const Grant& grant) override;
  void started(const At&, const TenureRef& tenure) override;
  void stop_asked(const At&, const TenureRef& tenure, StopReason reason) override;
  void ended(const At&, const TenureRef& tenure, TenureEnd why) override;
  void beat_seen(const At&, const SeenBeat& beat) override;
  void worker_added(const At&, std::uint64_t session, BytesView worker) override;
  void worker_unfit(const At&, std::uint64_t session, BytesView worker, BytesView error) override;
  void worker_fit(const At&, std::uint64_t session, BytesView worker) override;
  void worker_removed(const At&, std::uint64_t session, BytesView worker) override;
  Tenant* tenant(const TenureRef& ref, Tenant::Phase phase);

  const BootClock clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  PoolPicture picture_;                // guarded by mutex_, as all below
  PictureTimes times_;                 // bounded by kSamplesMax each
  std::map<std::string, Blow> blows_;  // by worker, until it is gone from the log or back
  Holders settled_;                    // the holders at the last settled moment
};

}  // namespace tenure::demo
