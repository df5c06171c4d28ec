#pragma once

// The part `keys`: workers, jobs, and who holds which key. One class for each subject:
//
//   workers       workers come, drain, serve keys and go
//   requests      requests of users: dispatch, notify, stop
//   tenures       reports of holders, and the consequences of a holder's end
//   starts        starts of residents, above all those that fail
//   dead_letters  jobs that wait for a person
//   partitions    the residents of a pool whose workers have ranks
//   restorer      jobs that are put back from what members remember of a lost log
//   job_line      the jobs of a key, one after another
//   probation     workers whose starts keep failing
//   placement     which worker should hold which key
//   ranks         which worker should hold a partition
//   queues        each worker's queues: grants and moves
//   moves         keys that are to be taken from their holders
//   fitness       how far each worker is trusted to start residents
//   blame         which jobs brought their holder's process down
//   slots         the basic steps of all others
//
// Each uses only those below it.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "machine/context.h"
#include "machine/keys/blame.h"
#include "machine/keys/dead_letters.h"
#include "machine/keys/fitness.h"
#include "machine/keys/job_line.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/partitions.h"
#include "machine/keys/placement.h"
#include "machine/keys/probation.h"
#include "machine/keys/queues.h"
#include "machine/keys/ranks.h"
#include "machine/keys/requests.h"
#include "machine/keys/restorer.h"
#include "machine/keys/slots.h"
#include "machine/keys/starts.h"
#include "machine/keys/surge.h"
#include "machine/keys/tenures.h"
#include "machine/keys/workers.h"

namespace tenure {

namespace v1 {
class Record;
}  // namespace v1

class Keys {
 public:
  Keys(KeysState& state, Context& context);
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  void on(const v1::Record& record);
  // While the session is still in the pool.
  void session_ended(const EndedSession& ended) { workers_.session_ended(ended); }
  void fire(const MachineTimer& timer);
  // Call these after each record and each timer. `held_back`: the log may still be put back, with partitions that are
  // not to be made anew.
  bool partitions_due() const { return state_.partitions_due; }
  void settle_partitions(bool held_back) { partitions_.settle(held_back); }
  void settle() {
    if (!state_.strays.empty()) placement_.settle_strays();
    queues_.settle();
  }
  void assignment_changed() { placement_.retarget_all(); }
  void ring_changed(const Ring& before) { partitions_.ring_changed(before); }
  // Another session chooses for the pool, or none does.
  void chooser_changed() { placement_.chooser_changed(); }
  // Accepts no job from now on. Tasks still run, without further delay. Residents are stopped; those without a holder
  // are not started any more.
  void begin_shutdown();
  // The pool was created by a node whose rules know no types.
  void forget_types();
  // Nothing is left to do.
  bool idle() const { return state_.table.slots.live() == 0; }

  // For other parts: tasks of theirs, in two steps, so that all of them are taken in or none.
  Requests::Room room_for(const std::vector<const v1::Dispatch*>& tasks) const { return requests_.room_for(tasks); }
  bool take_in(const v1::Dispatch& task, BytesView error) { return requests_.take_in(task, error); }
  // The resident of the key is held under this epoch.
  bool holds(BytesView key, std::uint64_t epoch) const;
  // The key's tenure, which the caller knows to hold it, leaves this for the next holder.
  void set_checkpoint(BytesView key, const Bytes& data);

  // The approximate size of a snapshot: the contents, and the overhead of each key and job.
  std::uint64_t bytes() const {
    return state_.bytes + std::uint64_t{state_.table.slots.live()} * 64 + std::uint64_t{state_.table.jobs.live()} * 32;
  }
  Slots& slots() { return slots_; }
  Restorer restorer() { return {state_, context_, slots_, line_, placement_}; }
  // The state was replaced.
  void restored();

  // See Machine.
  std::optional<JobInfo> find(BytesView key) const;
  SlotId each_job(SlotId from, const std::function<bool(const JobInfo&)>& visit) const;
  void each_message(BytesView key, const std::function<void(std::uint64_t, BytesView)>& visit) const;
  void each_ticket(const std::function<void(const TicketView&)>& visit) const;

 private:
  void end_wait(SlotId slot);
  void shut_down(SlotId slot);
  void drop_resident(SlotId slot);
  JobInfo info_of(SlotId slot) const;
  TicketView view_of(JobId job) const;

  KeysState& state_;
  Context& context_;
  Slots slots_;
  Blame blame_;
  Fitness fitness_;
  Queues queues_;
  Ranks ranks_;
  Placement placement_;
  Probation probation_;
  JobLine line_;
  DeadLetters dead_;
  Starts starts_;
  Tenures tenures_;
  Requests requests_;
  Partitions partitions_;
  Surge surge_;
  Workers workers_;
};

}  // namespace tenure
