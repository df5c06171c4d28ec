#pragma once

// Jobs that are out of attempts or too dangerous. They wait for a person to retry or drop them. A dead resident keeps
// its key, so that nobody starts it again by accident. A dead task makes room for the next one.

#include <cstdint>

#include "machine/context.h"
#include "machine/keys/blame.h"
#include "machine/keys/job_line.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/placement.h"
#include "machine/keys/slots.h"

namespace tenure {

namespace v1 {
class DropDead;
class RetryDead;
}  // namespace v1

class DeadLetters {
 public:
  DeadLetters(KeysState& state, Context& context, Slots& slots, JobLine& line, Placement& placement)
      : state_(state), context_(context), slots_(slots), line_(line), placement_(placement) {}

  void on(const v1::RetryDead& record);
  void on(const v1::DropDead& record);

  void bury(SlotId slot, bool quarantined, BytesView error);
  // A task that its key does not allow: in no line, and never held.
  void bury_unheld(JobId job, BytesView key, BytesView error);
  // The letter of a dead resident.
  void erase_letter_of(SlotId slot);
  // The pool is ending. Dead residents end with their keys.
  void forget_all();

 private:
  void drop_oldest_task();

  KeysState& state_;
  Context& context_;
  Slots& slots_;
  JobLine& line_;
  Placement& placement_;
};

}  // namespace tenure
