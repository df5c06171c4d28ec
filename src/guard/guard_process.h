#pragma once

// The state and the work of the guard process; see guard_main.h.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "guard/endings.h"
#include "guard/keepers.h"
#include "guard/lease_page.h"
#include "guard/message.h"
#include "guard/wake_timer.h"

namespace tenure::guard {

// One thread.
class GuardProcess {
 public:
  GuardProcess(LeasePage page, ReportEndings report);

  // Runs until the worker is gone or done, and its programs with it.
  int run();

 private:
  void look();
  void hear_worker();
  void obey(Received received);
  std::vector<int> held_by_keepers() const;
  void end_everything();
  void tell_worker(Message message);
  void flush();
  void wait_for_child();
  void wait_for_worker();
  void report_endings(const std::optional<Crash>& crash);

  const ReportEndings report_;
  Keepers keepers_;
  Descriptor poll_;
  Descriptor signals_;
  WakeTimer timer_;
  std::vector<Descriptor> alive_;
  std::deque<Message> unsent_;  // bounded by the programs: at most two each
  std::map<std::uint64_t, Ending> logs_;
  std::vector<std::string> folders_;
  std::string cgroup_;
  Descriptor cgroup_lock_;
  bool worker_left_ = false;
  bool farewell_ = false;
};

}  // namespace tenure::guard
