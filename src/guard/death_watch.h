#pragma once

// Knows, among processes of one host that share an embedded log, which of them have died. Beside the database lies a
// file with a slot for each session, and on each slot in use a lock:
//
//   file   := slot*kAliveSlots
//   slot   := session:u64  process:u64  namespace:u64  file:u64        in the host's byte order; session 0: free
//   lock   := an open file description's write lock on byte kLockBase + number of the slot
//
// A process takes the lock before it writes the slot, and wipes the slot before it gives the lock up. So a slot that
// names a session and is not locked is the trace of a process that died. The lock belongs to the open file, which the
// worker shares with its guard and its keepers: it falls when all of them are gone, and not before.
//
// The process id serves only to be told of the moment: it may be another's by now, or of another namespace. What is
// believed is the lock. Where either is missing (another host, a node that does not take part) nothing is known, and
// the lease decides. The file stays when the pool is removed.
//
// A copy of the file has the slots of the living, and nobody's locks. So a slot names the file that it was written to,
// and counts nowhere else. Who can write the file can declare anybody dead, and who can read it can hold locks: it is
// open to those who may write the database, and to nobody else.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/known_death.h"
#include "base/result.h"

namespace tenure::guard {

constexpr std::uint64_t kAliveSlots = 4096;

class DeathWatch final : public KnownDeath {
 public:
  // `database` is what log_file() says of the engine's URL.
  static Result<std::unique_ptr<DeathWatch>> open(const std::string& database);
  ~DeathWatch() override;

  // For Guard::share().
  int descriptor() const { return file_.get(); }

  void hold(std::uint64_t session) override;
  void let_go(std::uint64_t session) override;
  void watch(std::uint64_t session) override;
  void forget(std::uint64_t session) override;
  void tell(std::function<void(std::uint64_t)> gone) override;

 private:
  struct Slot {
    std::uint64_t session;
    std::uint64_t process;
    std::uint64_t process_namespace;
    std::uint64_t file;
  };
  struct Watched {
    std::uint64_t slot = 0;
    Descriptor process;  // a pidfd; none if the process cannot be watched, and the lock has to be looked at
    Nanos wait{};        // until the next look at the lock
    Instant next;
    bool looking = false;  // the lock is looked at
  };

  DeathWatch(std::string database, Descriptor file, std::uint64_t file_id);

  bool lock(std::uint64_t slot, bool take) const;
  bool is_locked(std::uint64_t slot) const;
  Slot read(std::uint64_t slot) const;
  bool write(std::uint64_t slot, const Slot& content) const;

  // The watching thread.
  void serve();
  void run_posted();
  void begin(std::uint64_t session);
  void look_at(std::uint64_t session);
  int look_at_due();
  void post(std::function<void()> work);

  const std::string database_;
  const Descriptor file_;
  const std::uint64_t file_id_;  // of the file that is open, never zero
  const std::uint64_t namespace_;
  Descriptor poll_;
  Descriptor wake_;

  std::map<std::uint64_t, Watched> watched_;  // owned by the watching thread

  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> own_;  // session -> slot; guarded by mutex_
  std::vector<std::function<void()>> posted_;   // guarded by mutex_
  bool stopping_ = false;                       // guarded by mutex_
  // Held while `gone_` is called, so that tell(null) waits for it. The callee only posts.
  std::mutex telling_;
  std::function<void(std::uint64_t)> gone_;  // guarded by telling_

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tenure::guard
