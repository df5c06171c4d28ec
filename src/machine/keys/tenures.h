#pragma once

// Reports of holders about their keys, and the consequences of a holder's end.

#include <cstdint>

#include "machine/context.h"
#include "machine/keys/dead_letters.h"
#include "machine/keys/job_line.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/queues.h"
#include "machine/keys/slots.h"
#include "machine/keys/suspects.h"

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
  Tenures(KeysState& state, Context& context, Slots& slots, Suspects& suspects, Queues& queues, JobLine& line,
          DeadLetters& dead)
      : state_(state),
        context_(context),
        slots_(slots),
        suspects_(suspects),
        queues_(queues),
        line_(line),
        dead_(dead) {}

  void on(const v1::Started& record);
  void on(const v1::Released& record);
  void on(const v1::Done& record);
  void on(const v1::Failed& record);
  void on(const v1::Checkpoint& record);
  void on(const v1::Notified& record);

  // The holder is gone without a report about this key. `on_trial`: how many jobs of its session were on their last
  // chance.
  void orphan(SlotId slot, TenureEnd why, std::uint32_t on_trial);
  // The start takes too long: the holder must give the key back.
  void time_out_start(SlotId slot);

 private:
  void remember(PastTenure tenure);
  SlotId held_slot(BytesView key, std::uint64_t epoch) const;
  void end_tenure(SlotId slot, TenureEnd why);
  bool start_timed_out(SlotId slot) const;
  void tell_handled(SlotId slot, const Message& message, bool failed, BytesView error);
  void fail_job(SlotId slot, int next, BytesView error, std::int64_t delay_ms);
  void set_checkpoint(SlotId slot, const Bytes& data);
  std::int64_t backoff_ms(const Slot& slot, const KeptJob& job) const;

  KeysState& state_;
  Context& context_;
  Slots& slots_;
  Suspects& suspects_;
  Queues& queues_;
  JobLine& line_;
  DeadLetters& dead_;
};

}  // namespace tenure
