#pragma once

// The worker's side of its guard (guard_main.h says what the guard is for). With a ProgramHost it runs programs; alone
// it makes a crash of this process known to the pool at once.
//
// Everything may be called from any thread, except begin(), receive() and the destructor, which belong to one.
// What the heart calls (renew, fence, over, end_all, destroy) never waits.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "guard/cgroup.h"
#include "guard/last_net.h"
#include "guard/lease_page.h"
#include "guard/message.h"

namespace tenure::guard {

struct GuardOptions {
  // The program and its arguments. Where empty: `tenure-guard` beside this program, or else by PATH.
  std::vector<std::string> command{};
  // This process starts no other children: it may end whatever its guard leaves behind (last_net.h).
  bool last_net = false;
  // Guard and programs live in a control group (cgroup.h): none, one below this process's own where that is possible,
  // or one below this path.
  enum class Group : std::uint8_t { none, possible, required } group = Group::none;
  std::string group_parent{};
};

struct ProgramStart {
  std::uint64_t number = 0;
  std::uint64_t session = 0;
  int slot = -1;  // from leases()
  std::string folder;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // in addition to this process's own, or instead of the same name
};

class Guard {
 public:
  static Result<std::unique_ptr<Guard>> start(GuardOptions options = {});
  // The programs are ended, and the guard is waited for.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // Where the ends of this process's sessions are to be said if it dies. The number goes into renew().
  std::uint32_t add_log(const std::string& url, const std::string& pool);
  // The guard removes the folder when it ends.
  void remove_at_end(const std::string& folder);
  // The guard, and each keeper, holds the descriptor open until its part is gone: for locks. It stays the caller's.
  void share(int descriptor);

  // From when on nothing of the session may run. False where the process has too many sessions.
  bool renew(std::uint64_t session, Instant end_at, std::uint32_t log) { return leases_.renew(session, end_at, log); }
  // No more starts, and SIGTERM to the session's programs, if the way to the guard is free.
  void fence(std::uint64_t session);
  // The same SIGTERM, for one who can wait for the way to be free.
  void stop_all(std::uint64_t session) { send({.kind = MessageKind::stop_all, .session = session}); }
  void end_all(std::uint64_t session);
  void over(std::uint64_t session) { leases_.over(session); }
  Leases& leases() { return leases_; }

  // Zero, or an errno; EPIPE once the guard is gone.
  int start_program(const ProgramStart& program, const std::vector<int>& standard);
  int stop_program(std::uint64_t number, Instant end_at);
  int end_program(std::uint64_t number);

  // To be polled for reading: messages, and the end of guard and keepers, when nothing of any program is left.
  int socket() const { return socket_.get(); }
  int life() const { return life_.get(); }
  Received receive() { return receive_message(socket_.get()); }

  // Programs that are started before this moment get a shield (shield.h), from this guard and from those after it.
  void shield_until(Instant moment);

  // The guard is killed; its keepers end the programs. For when it does not do what it is told.
  void destroy();
  // What workers that died on this host have left behind is ended, as far as control groups tell.
  void end_left_behind() const;
  // After destroy(), or after the guard's death. Waits until guard and keepers are gone, and with a last net until
  // nothing is left below this process; false after `patience`.
  bool wait_gone(Nanos patience);
  // Starts the guard again, after its end: receive() said closed and life() has closed.
  Status begin();
  pid_t process() const { return process_; }

 private:
  Guard(GuardOptions options, LeasePage page);
  Status spawn(int socket, int worker, int life);
  void introduce();
  int send(const Message& message, const std::vector<int>& descriptors = {});
  void reap(Nanos patience);

  const GuardOptions options_;
  std::optional<LastNet> net_;
  std::unique_ptr<Cgroup> group_;
  Leases leases_;
  Descriptor socket_;
  Descriptor life_;
  Descriptor handle_;  // a pidfd of the guard
  std::atomic<pid_t> process_ = -1;

  std::mutex mutex_;
  // What every guard of this process is told first; guarded by mutex_.
  std::vector<Message> introduction_;
  std::vector<int> shared_;
  std::uint32_t logs_ = 0;
  Instant shield_until_{};

  // Held while a guard is started, and while the last net is drawn in: it must not catch the new guard.
  std::mutex net_mutex_;
  std::uint64_t starts_ = 0;  // guarded by net_mutex_
};

}  // namespace tenure::guard
