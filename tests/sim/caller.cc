#include "sim/caller.h"

#include "sim/onlooker.h"

namespace tenure::sim {

void Caller::write_settled(Recorder& recorder, const Settlement& settlement) const {
  recorder.add(process_, Answered{process_.number(), settlement.ticket, step_of(settlement.state), settlement.code});
}

}  // namespace tenure::sim
