#pragma once

// Reports of holders about their keys, and the consequences of a holder's end.

#include <cstdint>

#include "machine/context.h"
#include "machine/keys/blame.h"
#include "machine/keys/dead_letters.h"
#include "machine/keys/job_line.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/queues.h"
#include "machine/keys/slots.h"
#include "machine/keys/starts.h"

namespace tenure {

namespace v1 {
class Checkpoint;
class Done;
class Failed;
class Notified;
class Released;
class Started;
}  // namespace v1

class Tenures {
 public:
  Tenures(KeysState& state, Context& context, Slots& slots, Blame& blame, Queues& queues, JobLine& line,
          DeadLetters& dead, Starts& starts)
      : state_(state),
        context_(context),
        slots_(slots),
        blame_(blame),
        queues_(queues),
        line_(line),
        dead_(dead),
        starts_(starts) {}

  void on(const v1::Started& record);
  void on(const v1::Released& record);
  void on(const v1::Done& record);
  void on(const v1::Failed& record);
  // The key's slot, or none if the record was refused.
  SlotId on(const v1::Checkpoint& record);
  void on(const v1::Notified& record);

  // The holder is gone without a report about this key. `death`: null unless its process may have died.
  void orphan(SlotId slot, TenureEnd why, const Death* death);
  // The start takes too long: the holder must give the key back.
  void time_out_start(SlotId slot);
  // For the next holder of a key that is held.
  void set_checkpoint(SlotId slot, const Bytes& data);

 private:
  void remember(PastTenure tenure);
  SlotId held_slot(BytesView key, std::uint64_t epoch) const;
  void end_tenure(SlotId slot, TenureEnd why, BytesView error = {});
  void tell_handled(SlotId slot, const Message& message, bool failed, BytesView error);
  void fail_job(SlotId slot, int next, BytesView error, std::int64_t delay_ms);

  KeysState& state_;
  Context& context_;
  Slots& slots_;
  Blame& blame_;
  Queues& queues_;
  JobLine& line_;
  DeadLetters& dead_;
  Starts& starts_;
};

}  // namespace tenure
