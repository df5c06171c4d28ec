#pragma once

// Answers clients that have not loaded the state and request a listing through the log.

#include <vector>

#include "base/bytes.h"
#include "node/appender.h"
#include "node/observer.h"
#include "node/steward/eldest_duty.h"

namespace tenure {

// Belongs to the node's loop.
class ListingDuty final : public EldestDuty, public PoolEffects {
 public:
  ListingDuty(Appender& appender, const Observer& observer) : appender_(appender), observer_(observer) {}

  void serve(const Machine& machine) override;
  void stand_down() override { questions_.clear(); }

  void asked(const At& at, const v1::Ask& ask) override;

 private:
  Appender& appender_;
  const Observer& observer_;
  std::vector<Bytes> questions_;  // of the last entry, encoded
};

}  // namespace tenure
