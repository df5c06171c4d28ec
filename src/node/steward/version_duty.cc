#include "node/steward/version_duty.h"

#include <algorithm>

#include "tenure/v1/record.pb.h"

namespace tenure {

void VersionDuty::serve(const Machine& machine) {
  std::uint32_t spoken = machine.speaks();
  for (const auto& [id, session] : machine.sessions().all) spoken = std::min(spoken, session.speaks);
  if (spoken <= machine.version() || spoken <= switching_to_) return;
  switching_to_ = spoken;
  v1::Record record;
  record.mutable_switch_version()->set_to(spoken);
  appender_.offer(record);
}

}  // namespace tenure
