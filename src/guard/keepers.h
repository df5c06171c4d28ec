#pragma once

// The keepers of a guard: one process for each program (keeper.h). Starts them, stops them, ends them when their lease
// passes, and records how each program ended. Also ends what is left of a program whose keeper was killed.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "guard/keeper.h"
#include "guard/lease_page.h"
#include "guard/message.h"

namespace tenure::guard {

// One thread.
class Keepers {
 public:
  // `tell` gets the messages to the worker about its programs: started, refused, ended.
  Keepers(LeasePage page, std::function<void(Message)> tell);

  // Handles a message of kind `start`. `kept`: descriptors that the keeper holds open.
  void start(Received received, std::vector<int> kept);
  void stop(std::uint64_t number, std::int64_t end_at);
  void end(std::uint64_t number);
  void stop_all(std::uint64_t session);
  void end_all(std::uint64_t session);
  void end_everything();
  // Programs that are started before this moment get a shield (CLOCK_BOOTTIME, ns).
  void shield_until(std::int64_t moment) { shield_until_ = moment; }

  // Poll it for reading: the keepers' reports, which hear() reads.
  int reports() const { return reports_.get(); }
  void hear();
  // Call it after the death or the stop of a child.
  void reap();
  // Ends programs whose lease or stop has run out. Returns when something must be ended next.
  std::int64_t check_deadlines();

  bool empty() const { return kept_.empty() && !strays_; }
  // True if processes may have lost their keeper. Then call end_strays(), and again soon while this is true.
  bool strays() const { return strays_; }
  void end_strays();
  const LeasePage& page() const { return page_; }

 private:
  struct Kept {
    pid_t keeper = -1;
    std::uint64_t session = 0;
    std::size_t slot = 0;
    std::int64_t end_at = INT64_MAX;  // set by a stop; the lease may come first
    bool asked = false;               // SIGTERM is sent once, however often a stop is requested
    bool ending = false;
    std::int64_t kill_at = INT64_MAX;  // when a keeper that was told to end is killed
    bool killed = false;               // by this guard
    std::optional<Message> last{};     // the keeper's report; passed on once the keeper is gone
  };

  void refuse(std::uint64_t number, int error_number, StartStep step);
  static void stop(Kept& kept, std::int64_t end_at);
  static void end(Kept& kept);
  void lose(std::uint64_t number, const Kept& kept);
  bool lease_holds(std::uint64_t session, std::size_t slot, std::int64_t now) const;

  const LeasePage page_;
  const std::function<void(Message)> tell_;
  Descriptor reports_;
  Descriptor reports_in_;
  std::map<std::uint64_t, Kept> kept_;  // by number
  std::vector<Message> lost_;           // their keepers were killed: reported once no strays are left
  bool strays_ = false;
  std::int64_t shield_until_ = 0;
};

}  // namespace tenure::guard
