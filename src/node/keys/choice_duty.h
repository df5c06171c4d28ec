#pragma once

// Chosen assignment: the eldest member calls the user's function and writes its choices to the log.

#include <tenure/assignment.hpp>
#include <vector>

#include "base/bytes.h"
#include "node/appender.h"
#include "node/steward/eldest_duty.h"

namespace tenure {

// Belongs to the node's loop.
class ChoiceDuty final : public EldestDuty, public KeyEffects {
 public:
  // Without a function nothing is chosen.
  ChoiceDuty(Appender& appender, ChooseWorker choose) : appender_(appender), choose_(std::move(choose)) {}

  void serve(const Machine& machine) override;
  void stand_down() override;

  void choice_due(const At& at, BytesView key) override;
  void choices_due(const At& /*at*/) override { stand_down(); }

 private:
  void choose(const Machine& machine, const JobInfo& job);

  Appender& appender_;
  ChooseWorker choose_;
  std::vector<Bytes> keys_due_;  // since the last served entry; empty while all are due
  bool all_due_ = true;
  std::vector<WorkerView> takers_;  // of the job that is being placed; its memory is used again
};

}  // namespace tenure
