#pragma once

// Puts remembered jobs back under their keys: queued, delayed or dead, as they were, and without a holder.

#include <cstdint>
#include <set>

#include "machine/context.h"
#include "machine/keys/job_line.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/placement.h"
#include "machine/keys/slots.h"

namespace tenure {

namespace v1 {
class RememberedJob;
class RememberedKey;
}  // namespace v1

class Restorer {
 public:
  Restorer(KeysState& state, Context& context, Slots& slots, JobLine& line, Placement& placement)
      : state_(state), context_(context), slots_(slots), line_(line), placement_(placement) {}

  struct Case {
    bool on_request;                       // only keys that are not there
    bool partial;                          // the key's present jobs came with an earlier part
    const std::set<std::uint64_t>& there;  // tickets of jobs that came into the log by another way,
    const std::set<std::uint64_t>& back;   // or with an earlier part
  };
  struct Count {
    std::uint64_t back = 0;
    std::uint64_t left_out = 0;
  };
  Count put_back(const v1::RememberedKey& key, const Case& how);
  // The rest of this key was announced and will not come: the member that goes on does not remember it.
  void let_go(BytesView key);

 private:
  bool joins(const v1::RememberedKey& key, SlotId slot, const Case& how) const;
  bool put_job(const v1::RememberedKey& key, const v1::RememberedJob& from, SlotId& slot, std::uint64_t hash);
  bool has_letter(const v1::RememberedKey& key, const v1::RememberedJob& from) const;
  bool put_dead_task(const v1::RememberedKey& key, const v1::RememberedJob& from);
  void bury(const v1::RememberedKey& key, const v1::RememberedJob& from, JobId job, JobKind kind);
  BytesView type_of(const v1::RememberedJob& from) const;
  JobId add_job(const v1::RememberedJob& from, SlotId slot, bool delayed);
  void go_on(const v1::RememberedKey& key, SlotId slot, bool added, bool held_back);

  KeysState& state_;
  Context& context_;
  Slots& slots_;
  JobLine& line_;
  Placement& placement_;
};

}  // namespace tenure
