#pragma once

// Workers come, drain, serve keys and go.

#include <cstdint>

#include "machine/context.h"
#include "machine/keys/blame.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/partitions.h"
#include "machine/keys/placement.h"
#include "machine/keys/probation.h"
#include "machine/keys/slots.h"
#include "machine/keys/tenures.h"

namespace tenure {

namespace v1 {
class AddWorker;
class Drain;
class RemoveWorker;
class Serve;
}  // namespace v1

class Workers {
 public:
  Workers(KeysState& state, Context& context, Slots& slots, Blame& blame, Ranks& ranks, Placement& placement,
          Probation& probation, Tenures& tenures, Partitions& partitions)
      : state_(state),
        context_(context),
        slots_(slots),
        blame_(blame),
        ranks_(ranks),
        placement_(placement),
        probation_(probation),
        tenures_(tenures),
        partitions_(partitions) {}

  void on(const v1::AddWorker& record);
  // The record of a worker that takes only some jobs. Members of version 1 would skip it: their pool cannot have one.
  void on_taker(const v1::AddWorker& record);
  // A worker with an ordinal, which members of version 1 would skip, too.
  void on_ranked(const v1::AddWorker& record);
  void on(const v1::RemoveWorker& record);
  void on(const v1::Drain& record);
  void on(const v1::Serve& record);
  // The session has ended, and all its workers with it.
  void session_ended(const EndedSession& ended);
  // In a shutdown: where the open workers may not take all tasks, those that were asked to take no more keys finish
  // what was accepted.
  void open_drained();
  // The worker has waited long enough to take its partition from another.
  void settled(const MachineTimer& timer);

 private:
  Errc judge(const v1::AddWorker& record) const;
  Errc judge_rank(const v1::AddWorker& record) const;
  std::uint32_t ordinal_of(const v1::AddWorker& record) const;
  WorkerIx add(const v1::AddWorker& record);
  void remove(WorkerIx worker, TenureEnd why, const Death* death);

  KeysState& state_;
  Context& context_;
  Slots& slots_;
  Blame& blame_;
  Ranks& ranks_;
  Placement& placement_;
  Probation& probation_;
  Tenures& tenures_;
  Partitions& partitions_;
};

}  // namespace tenure
