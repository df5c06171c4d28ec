#pragma once

// The pool as the log tells it: which worker holds which tenant, since when, and what the moves have cost. It listens
// to a node that has no workers, and so sees what every node sees.
//
// Thread-safe; it is fed on the node's loop.

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

// One hold of a tenant, for those who ask why.
struct PastHold {
  std::uint64_t epoch = 0;
  std::string worker{};
  Instant granted{};
  std::optional<Instant> started{};
  std::optional<Instant> ended{};
  std::string reason{};            // why it ended
  std::optional<double> gap_ms{};  // how long nobody had run it before
};

struct Tenant {
  enum class Phase : std::uint8_t { waiting, starting, running, stopping };

  Phase phase = Phase::waiting;
  std::string worker{};  // the holder, or the last one
  std::uint64_t session = 0;
  Instant since{};                    // in this phase
  std::optional<Instant> gap_from{};  // since when nobody runs it
  bool killed = false;                // because its holder was killed
  std::deque<PastHold> history{};     // oldest first
};

struct WorkerLife {
  std::uint64_t session = 0;
  Instant last_beat{};  // as it was heard here
};

struct PoolPicture {
  std::map<std::string, Tenant> tenants{};
  std::map<std::string, WorkerLife> workers{};
  std::uint64_t moves = 0;
  std::uint64_t moves_needed = 0;
  std::uint64_t beats = 0;
  bool moving = false;  // the machine has moves or starts under way
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

  // The worker runs nothing from this moment on.
  void down(const std::string& worker, Down how, Instant at);

  PoolPicture copy() const;
  PictureTimes times() const;
  bool check(const std::function<bool(const PoolPicture&)>& reached) const;
  // Waits for the log to say so.
  bool wait(Nanos patience, const std::function<bool(const PoolPicture&)>& reached);

  // Whether every tenant runs and nothing has moved for a little while. Moves are compared with what they had to be at
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
  void worker_removed(const At&, std::uint64_t session, BytesView worker) override;
  Tenant* tenant(const TenureRef& ref, Tenant::Phase phase);

  const BootClock clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  PoolPicture picture_;                // guarded by mutex_, as all below
  PictureTimes times_;                 // bounded by kSamplesMax each
  std::map<std::string, Blow> blows_;  // by worker, until it is gone from the log, or back
  Holders settled_;                    // who held what at the last settled moment
};

}  // namespace tenure::demo
