#pragma once

// What the guard knows and does; guard_main.h says what for.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "exec/descriptor.h"
#include "exec/frame.h"
#include "exec/keeper.h"
#include "exec/last_word.h"
#include "exec/lease_page.h"
#include "exec/wake_timer.h"

namespace tenure::exec {

// One thread.
class GuardProcess {
 public:
  explicit GuardProcess(LeasePage page);

  // Until the worker is gone, or done, and its programs with it.
  int run();

 private:
  struct Kept {
    pid_t keeper = -1;
    std::uint64_t session = 0;
    std::size_t slot = 0;
    std::int64_t end_at = INT64_MAX;  // by a stop; the lease may come first
    bool asked = false;               // SIGTERM is sent once, however often a stop is asked for
    bool ending = false;
    std::int64_t kill_at = INT64_MAX;  // when a keeper that was told to end is killed
    bool killed = false;               // by this guard
    std::optional<Frame> last{};       // how it went, as its keeper said; told once the keeper is gone too
  };

  void look();
  void hear_worker();
  void obey(Received received);
  void start(Received received);
  void refuse(std::uint64_t number, int error_number, Stage stage);
  void stop(Kept& kept, std::int64_t end_at);
  void end(Kept& kept);
  void end_everything();
  void hear_keepers();
  void reap();
  void lose(std::uint64_t number, const Kept& kept);
  void end_strays();
  void check_deadlines();
  bool lease_holds(std::uint64_t session, std::size_t slot, std::int64_t now) const;
  void say(Frame frame);
  void flush();
  void wait_for_child();
  void wait_for_worker();
  void speak_for_worker();

  LeasePage page_;
  Descriptor poll_;
  Descriptor signals_;
  WakeTimer timer_;
  Descriptor reports_;
  Descriptor reports_in_;
  std::vector<Descriptor> alive_;
  std::map<std::uint64_t, Kept> kept_;  // by number
  std::vector<Frame> lost_;             // their keepers were killed: said once no strays are left
  bool strays_ = false;                 // processes that lost their keeper may be about
  std::deque<Frame> unsent_;            // bounded by the programs: at most two each
  std::map<std::uint64_t, Ending> logs_;
  std::vector<std::string> folders_;
  std::int64_t shield_until_ = 0;
  std::string cgroup_;
  Descriptor cgroup_lock_;
  bool worker_left_ = false;
  bool farewell_ = false;
};

}  // namespace tenure::exec
