#pragma once

// The worker's side of its guard (guard_main.h describes the guard). With a ProgramHost it runs programs. Without one
// it only reports a crash of this process to the pool at once.
//
// Thread-safe, except begin(), receive() and the destructor, which are for one thread. The functions for the heart
// (renew, fence, over, end_all, destroy) never block.

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
  // The guard program and its arguments. If empty: `tenure-guard` beside this program, or from PATH.
  std::vector<std::string> command{};
  // This process starts no other children, so it may end everything that its guard leaves behind (last_net.h).
  bool last_net = false;
  // The guard is not this process's child, so that code which waits for any child does not wait for it.
  bool apart = false;
  // Guard and programs run in a control group (cgroup.h): none, one below this process's own if possible, or one below
  // this path.
  enum class Group : std::uint8_t { none, possible, required } group = Group::none;
  std::string group_parent{};
};

struct ProgramStart {
  std::uint64_t number = 0;
  std::uint64_t session = 0;
  int slot = -1;  // from leases()
  std::string folder;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // added to this process's own; replaces variables of the same name
};

class Guard {
 public:
  static Result<std::unique_ptr<Guard>> start(GuardOptions options = {});
  // Ends the programs, and waits for the guard.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // Sets where to report the ends of this process's sessions if it dies. Pass the returned number to renew().
  std::uint32_t add_log(const std::string& url, const std::string& pool);
  // The guard removes the folder when it ends.
  void remove_at_end(const std::string& folder);
  // The guard and each keeper hold the descriptor open until their part is gone. For locks. The caller keeps its own.
  void share(int descriptor);

  // From `end_at` on nothing of the session may run. False if the process has too many sessions.
  bool renew(std::uint64_t session, Instant end_at, std::uint32_t log) { return leases_.renew(session, end_at, log); }
  // Starts nothing more, and sends SIGTERM to the session's programs if the socket has room.
  void fence(std::uint64_t session);
  // Sends the same SIGTERM, but waits until the socket has room.
  void stop_all(std::uint64_t session) { send({.kind = MessageKind::stop_all, .session = session}); }
  void end_all(std::uint64_t session);
  void over(std::uint64_t session) { leases_.over(session); }
  Leases& leases() { return leases_; }
  // Where this process notes why it dies.
  CrashNote& crash_note() { return leases_.page_end().crash; }

  // Zero, or an errno; EPIPE once the guard is gone.
  int start_program(const ProgramStart& program, const std::vector<int>& standard);
  int stop_program(std::uint64_t number, Instant end_at);
  int end_program(std::uint64_t number);

  // Poll these for reading: messages; and the end of guard and keepers, when nothing of any program is left.
  int socket() const { return socket_.get(); }
  int life() const { return life_.get(); }
  Received receive() { return receive_message(socket_.get()); }

  // Programs that are started before this moment get a shield (shield.h), from this guard and from later ones.
  void shield_until(Instant moment);

  // Kills the guard; its keepers end the programs. For a guard that does not follow its orders.
  void destroy();
  // Ends what dead workers on this host have left behind, as far as control groups show it.
  void end_left_behind() const;
  // Call it after destroy(), or after the guard's death. Waits until guard and keepers are gone, and with a last net
  // until nothing is left below this process. False after `patience`.
  bool wait_gone(Nanos patience);
  // Starts the guard again after its end: receive() returned closed, and life() was closed.
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
  // The first messages to every guard of this process; guarded by mutex_.
  std::vector<Message> introduction_;
  std::vector<int> shared_;
  std::uint32_t logs_ = 0;
  Instant shield_until_{};

  // Held while a guard is started, and while the last net is swept: it must not kill the new guard.
  std::mutex net_mutex_;
  std::uint64_t starts_ = 0;  // guarded by net_mutex_
};

}  // namespace tenure::guard
