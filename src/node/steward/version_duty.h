#pragma once

// Switches the pool to newer rules once every member supports them.

#include <cstdint>

#include "node/appender.h"
#include "node/steward/eldest_duty.h"

namespace tenure {

// Belongs to the node's loop.
class VersionDuty final : public EldestDuty {
 public:
  explicit VersionDuty(Appender& appender) : appender_(appender) {}

  void serve(const Machine& machine) override;
  void stand_down() override { switching_to_ = 0; }

 private:
  Appender& appender_;
  std::uint32_t switching_to_ = 0;  // the version that was already requested
};

}  // namespace tenure
