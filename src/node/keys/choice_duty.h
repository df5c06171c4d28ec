#pragma once

// Chosen assignment: the eldest of the members that have the user's function calls it and writes its choices to the
// log. Where the function throws, or names no worker, the key is placed by rendezvous, and the owner hears of it.

#include <set>
#include <string>
#include <tenure/assignment.hpp>
#include <vector>

#include "base/bytes.h"
#include "machine/effects.h"
#include "machine/machine.h"
#include "node/appender.h"
#include "node/node_events.h"

namespace tenure {

// Belongs to the node's loop.
class ChoiceDuty final : public KeyEffects {
 public:
  // Without a function nothing is chosen here.
  ChoiceDuty(Appender& appender, ChooseWorker choose, NodeEvents& events)
      : appender_(appender), choose_(std::move(choose)), events_(events) {}

  // After each entry, on every member. `session`: this node's.
  void look(const Machine& machine, std::uint64_t session);
  // This node is no member, or has another state now: what it wrote may have been lost.
  void stand_down();

  void choice_due(const At& at, BytesView key) override;
  void choices_due(const At& /*at*/) override { stand_down(); }

 private:
  static constexpr std::size_t kFailuresSaidMax = 100;  // keys with an error in the log; more are not logged

  void choose(const Machine& machine, const JobInfo& job);
  // The worker's id, or nothing if the function failed.
  BytesView call(BytesView key, const std::vector<WorkerView>& workers);
  void say_failed(BytesView key, const std::string& why);

  Appender& appender_;
  ChooseWorker choose_;
  NodeEvents& events_;
  std::uint64_t session_ = 0;
  std::uint64_t round_ = 0;
  std::vector<Bytes> keys_due_;  // since the last served entry; empty while all are due
  bool all_due_ = true;
  std::vector<WorkerView> takers_;       // of the job that is being placed; its memory is used again
  std::set<Bytes, std::less<>> failed_;  // keys of which a failure was said
  bool said_missing_ = false;
};

}  // namespace tenure
