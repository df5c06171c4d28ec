#pragma once

// Writes the outcomes of requests to the log, for dispatchers that keep no state.

#include "node/appender.h"
#include "node/steward/eldest_duty.h"

namespace tenure {

// Belongs to the node's loop.
class AnswerDuty final : public EldestDuty {
 public:
  explicit AnswerDuty(Appender& appender) : appender_(appender) {}

  void serve(const Machine& machine) override;
  void stand_down() override { answered_ = 0; }

 private:
  Appender& appender_;
  std::uint64_t answered_ = 0;  // the order of the last answer written
};

}  // namespace tenure
