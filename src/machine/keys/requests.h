#pragma once

// Requests of users: dispatch a job, send its holder a message, stop it. And tasks that other parts of the machine
// bring.

#include <cstdint>
#include <vector>

#include "machine/context.h"
#include "machine/keys/dead_letters.h"
#include "machine/keys/job_line.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/placement.h"
#include "machine/keys/queues.h"
#include "machine/keys/slots.h"

namespace tenure {

namespace v1 {
class Dispatch;
class Notify;
class Stop;
}  // namespace v1

class Requests {
 public:
  Requests(KeysState& state, Context& context, Slots& slots, Queues& queues, JobLine& line, Placement& placement,
           DeadLetters& dead)
      : state_(state),
        context_(context),
        slots_(slots),
        queues_(queues),
        line_(line),
        placement_(placement),
        dead_(dead) {}

  void on(const v1::Dispatch& record);
  void on(const v1::Notify& record);
  void on(const v1::Stop& record);

  // A task that could be accepted in some state of the pool.
  static bool is_task(const v1::Dispatch& record);
  // Whether there is room for all of these tasks. If not, why.
  struct Room {
    Errc code{};
    Bytes why{};
  };
  Room room_for(const std::vector<const v1::Dispatch*>& tasks) const;
  // Accepts a task as a dispatch does, without a word on the bounds. False: it has become a dead letter, since its key
  // has a resident, or with this error.
  bool take_in(const v1::Dispatch& record, BytesView error);

  // A resident of the pool itself, under a key that is free.
  SlotId add_own(const v1::Dispatch& record);
  // Ends the resident as a stop does, with nobody to tell.
  void end_key(SlotId slot);

 private:
  static bool is_sound(const v1::Dispatch& record);
  Errc judge(const v1::Dispatch& record, SlotId slot, bool delayed) const;
  void accept(const v1::Dispatch& record, SlotId slot, std::uint64_t hash, bool delayed);
  void bury(const v1::Dispatch& record, BytesView error);
  Bytes bound_reached(bool delayed) const;
  Bytes queue_is_full() const;
  Bytes too_many_delayed() const;
  BytesView type_of(const v1::Dispatch& record) const;
  JobId add_job(const v1::Dispatch& record, SlotId slot, Progress progress);
  bool is_partitions(BytesView key) const;
  void stop_job(SlotId slot, std::uint64_t ticket, bool in_log);
  void end_head(SlotId slot);
  void trim_oldest();

  KeysState& state_;
  Context& context_;
  Slots& slots_;
  Queues& queues_;
  JobLine& line_;
  Placement& placement_;
  DeadLetters& dead_;
};

}  // namespace tenure
