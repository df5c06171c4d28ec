#pragma once

// Workers come, drain, serve keys and go.

#include <cstdint>

#include "machine/context.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/placement.h"
#include "machine/keys/probation.h"
#include "machine/keys/slots.h"
#include "machine/keys/suspects.h"
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
  Workers(KeysState& state, Context& context, Slots& slots, Suspects& suspects, Placement& placement,
          Probation& probation, Tenures& tenures)
      : state_(state),
        context_(context),
        slots_(slots),
        suspects_(suspects),
        placement_(placement),
        probation_(probation),
        tenures_(tenures) {}

  void on(const v1::AddWorker& record);
  void on(const v1::RemoveWorker& record);
  void on(const v1::Drain& record);
  void on(const v1::Serve& record);
  // The session has ended, and all its workers with it.
  void session_ended(std::uint64_t session, SessionEnd how);

 private:
  Errc judge(const v1::AddWorker& record) const;
  WorkerIx add(const v1::AddWorker& record);
  void remove(WorkerIx worker, TenureEnd why, std::uint32_t on_trial);

  KeysState& state_;
  Context& context_;
  Slots& slots_;
  Suspects& suspects_;
  Placement& placement_;
  Probation& probation_;
  Tenures& tenures_;
};

}  // namespace tenure
