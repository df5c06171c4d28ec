#pragma once

// The jobs of a key, one after another. The head is the one that is, or will be, held. Delayed tasks join the line when
// they are due.

#include <cstdint>

#include "machine/context.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/placement.h"
#include "machine/keys/queues.h"
#include "machine/keys/slots.h"

namespace tenure {

class JobLine {
 public:
  JobLine(KeysState& state, Context& context, Slots& slots, Queues& queues, Placement& placement)
      : state_(state), context_(context), slots_(slots), queues_(queues), placement_(placement) {}

  // Adds a task that is due later, or now.
  void add_delayed(SlotId slot, JobId job, std::int64_t delay_ms);
  void delay_over(const MachineTimer& timer);
  // All delayed tasks join the line now, in the order of their times.
  void end_delays(SlotId slot);
  // Drops the tasks behind the head, and the delayed ones. Their dispatchers learn that they were stopped.
  std::uint32_t drop_waiting(SlotId slot);
  // The head job is over and forgotten. The key continues with the next job.
  void finish_head(SlotId slot);
  // The key continues with its head. Without jobs it is removed.
  void next_job(SlotId slot);

 private:
  std::uint32_t drop_list(JobId first);

  KeysState& state_;
  Context& context_;
  Slots& slots_;
  Queues& queues_;
  Placement& placement_;
};

}  // namespace tenure
