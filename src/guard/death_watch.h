#pragma once

// Detects which processes of one host that share an embedded log have died. A file beside the database has a slot for
// each session, and each slot in use is locked:
//
//   file   := slot*kAliveSlots
//   slot   := session:u64  process:u64  namespace:u64  file:u64        in the host's byte order; session 0: free
//   lock   := an open file description's write lock on byte kLockBase + number of the slot
//
// A process takes the lock before it writes the slot, and clears the slot before it releases the lock. So a slot with a
// session and without a lock belongs to a process that died. The lock belongs to the open file, which the worker shares
// with its guard and its keepers: it is released when all of them are gone, and not before.
//
// The process id only tells when to check: it may belong to another process by now, or to another namespace. The lock
// decides. If one of the two is missing (another host, a node that does not take part), deaths are not detected, and
// the lease decides. The file is removed with the pool. For a process that still has it open, the lease decides.
//
// A copy of the file has the slots of living processes, but not their locks. So a slot names the file that it was
// written to, and counts in no other. A user who can write the file can declare any process dead, and a user who can
// read it can hold locks. So only users who may write the database can access it.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/known_death.h"
#include "base/posted_work.h"
#include "base/result.h"

namespace tenure::guard {

constexpr std::uint64_t kAliveSlots = 4096;

class DeathWatch final : public KnownDeath {
 public:
  // `database` is the result of log_file() for the engine's URL.
  static Result<std::unique_ptr<DeathWatch>> open(const std::string& database);
  ~DeathWatch() override;

  // For Guard::share().
  int descriptor() const { return file_.get(); }

  void hold(std::uint64_t session) override;
  void let_go(std::uint64_t session) override;
  void watch(std::uint64_t session) override;
  void forget(std::uint64_t session) override;
  void tell(std::function<void(std::uint64_t)> gone) override;
  void pool_ended() override;

 private:
  struct Slot {
    std::uint64_t session;
    std::uint64_t process;
    std::uint64_t process_namespace;
    std::uint64_t file;
  };
  struct Watched {
    std::uint64_t slot = 0;
    Descriptor process;  // a pidfd; none if the process cannot be observed, and the lock has to be polled
    Nanos wait{};        // until the next look at the lock
    Instant next;
    bool looking = false;  // the lock is being checked
  };

  DeathWatch(std::string database, Descriptor file, std::uint64_t file_id);

  bool lock(std::uint64_t slot, bool take) const;
  bool is_locked(std::uint64_t slot) const;
  Slot read(std::uint64_t slot) const;
  bool write(std::uint64_t slot, const Slot& content) const;

  // The watching thread.
  void serve();
  void begin(std::uint64_t session);
  void look_at(std::uint64_t session);
  int look_at_due();

  const std::string database_;
  const Descriptor file_;
  const std::uint64_t file_id_;  // of the open file, never zero
  const std::uint64_t namespace_;
  Descriptor poll_;
  PostedWork posted_;

  bool stopping_ = false;                     // owned by the watching thread
  std::map<std::uint64_t, Watched> watched_;  // owned by the watching thread

  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> own_;  // session -> slot; guarded by mutex_
  // Held during calls of `gone_`, so that tell(null) waits for them. The callee only posts.
  std::mutex telling_;
  std::function<void(std::uint64_t)> gone_;  // guarded by telling_

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tenure::guard
