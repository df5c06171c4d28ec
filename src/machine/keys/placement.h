#pragma once

// Decides which worker should hold which key. The assignment and the open workers determine a key's target. When the
// target changes, the key waits in another queue, or moves.

#include <cstdint>
#include <vector>

#include "machine/context.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/queues.h"
#include "machine/keys/ranks.h"
#include "machine/keys/slots.h"

namespace tenure {

namespace v1 {
class Choose;
}  // namespace v1

class Placement {
 public:
  Placement(KeysState& state, Context& context, Slots& slots, Queues& queues, Ranks& ranks)
      : state_(state), context_(context), slots_(slots), queues_(queues), ranks_(ranks) {}

  void on(const v1::Choose& record);

  // Creates a slot for a key that has none. Its target is that of a key without a job.
  SlotId add_key(BytesView key, std::uint64_t hash, JobKind kind);
  // Under chosen assignment, a key without a target waits for the users' function, if some member has it.
  void ask_for_choice(SlotId slot) {
    if (is_chosen() && state_.table.placed[slot].target == kNone) tell_choice_due(slot);
  }
  void chooser_changed();
  bool served(SlotId slot) const { return server_of(slot) != kNone; }
  // The head job of the key is another one, and nobody holds it: another worker may have to.
  void head_changed(SlotId slot) {
    if (types_matter(state_.table.slots[slot].kind)) retarget_head(slot);
  }
  void retarget_all();
  // The key is about to lose its holder `from`. If the new target is the same worker, it changes without a move.
  void retarget_orphan(SlotId slot, WorkerIx from);
  void set_serves(WorkerIx worker, BytesView key, bool serves);
  // The worker can be given keys again that it serves.
  void serve_again(WorkerIx worker);
  void stop_serving(WorkerIx worker);
  // The worker accepts keys. It may take the place of another worker; `inherits` means that it gets exactly that one's
  // keys.
  void worker_opened(WorkerIx worker, WorkerIx replaced, bool inherits);
  // The worker accepts no more keys.
  void worker_closed(WorkerIx worker);
  // The worker is unfit: what does not run there goes to others.
  void worker_unfit(WorkerIx worker);
  // Another worker for a key that failed to start on `from`, and on those of the ages `failed_on`; none if there is
  // none. `only_proven`: one that has started something itself.
  WorkerIx other_for(SlotId slot, WorkerIx from, const std::vector<std::uint64_t>& failed_on, bool only_proven);
  // The key goes to that worker, whatever the assignment says.
  void divert(SlotId slot, WorkerIx to);
  // A part of a partition goes to that worker until it is taken back (to kNone), or the worker is gone.
  void lend(SlotId slot, WorkerIx to);
  // The key goes where the assignment says.
  void rechoose(SlotId slot) { retarget(slot, choose(slot)); }
  // Between records: finds workers for the strays.
  void settle_strays();
  // Call it when the set of open workers has changed, before worker_opened() and worker_closed().
  void refresh_open() { state_.takers.refresh(state_.workers); }
  // The key is about to be removed from the table.
  void forget_key(SlotId slot) {
    if (ranks_.is_partition(slot)) ranks_.removed(slot);
  }
  // The worker is there, or has settled: partitions may have waited for it.
  void offer_partitions(WorkerIx worker);
  // Whether the worker takes the key's job, and may hold it.
  bool takes(WorkerIx worker, SlotId slot) const;

 private:
  WorkerIx choose(SlotId slot);
  WorkerIx rendezvous(SlotId slot);
  // Tasks never have a type of the library itself, so the types of their keys need not be looked up.
  bool may_be_own(JobKind kind) const { return kind == JobKind::resident && state_.types.has_own(); }
  bool types_matter(JobKind kind) const { return !state_.takers.uniform(kind) || may_be_own(kind); }
  bool is_own(SlotId slot) const {
    return may_be_own(state_.table.slots[slot].kind) && state_.types.is_own(state_.table.head_type(slot));
  }
  bool is_chosen() const { return context_.config().assignment == Assignment::chosen; }
  void choices_due();
  // The open worker that serves the key and takes its job, the last one if there are several.
  WorkerIx server_of(SlotId slot) const { return state_.servers.empty() ? kNone : find_server(slot); }
  WorkerIx find_server(SlotId slot) const;
  void tell_choice_due(SlotId slot);
  const Crowd& takers_of(SlotId slot);
  void retarget_head(SlotId slot);
  void remove_server(WorkerIx worker, BytesView key);
  void retarget(SlotId slot, WorkerIx target);
  void aim(SlotId slot, WorkerIx target);
  bool stays(SlotId slot) const;

  KeysState& state_;
  Context& context_;
  Slots& slots_;
  Queues& queues_;
  Ranks& ranks_;
};

}  // namespace tenure
