#pragma once

// Puts a pool back into a log that lost everything, from what its members remember. Each member has had the whole state
// at some position. One of them sends it in parts; the first to begin does it alone, and if it dies, another goes on
// where it stopped. It happens once: afterwards the state is what the log says, whatever others remember.
//
// A log may be restored only if nobody has begun a new pool in it, that is, if the first node that joined remembers the
// old one. Jobs that clients dispatched meanwhile stay. Where a key was taken anew by a resident, or is
// remembered as a resident's, the newer job stays and the remembered ones are left out; tasks join the key's line.
//
// If a person asks for it, any log gets the keys that it does not have in the same way.

#include <cstdint>

#include "machine/context.h"
#include "machine/keys/restorer.h"
#include "machine/restoration_state.h"
#include "machine/sources/sources.h"

namespace tenure {

namespace v1 {
class Restore;
class RestorationState;
}  // namespace v1

class Restoration {
 public:
  Restoration(RestorationState& state, FrameState& frame, Context& context, Restorer restorer, Sources& sources)
      : state_(state), frame_(frame), context_(context), restorer_(restorer), sources_(sources) {}

  // A node has joined.
  void joined(bool newcomer);
  void session_ended(std::uint64_t session);
  // True while a member may still put the pool back, so that the final state is not known yet.
  bool is_undecided() const;
  // A sender repeats a batch in the new log if its answer was lost with the old one. Members may remember the jobs of
  // that batch as well. So the state notes the tickets of all jobs that come in while the log is open.
  bool notes_jobs() const { return state_.origin == RestorationState::Origin::open; }
  void note_job(std::uint64_t ticket);
  // Whether the record begins a restoration that brings the pool's options.
  bool brings_options(const v1::Restore& record) const;
  void on(const v1::Restore& record);

 private:
  bool may_begin(const v1::Restore& record) const;
  void begin(const v1::Restore& record);
  void go_on_with(const v1::Restore& record);
  void let_go_of_partial();
  void finish();
  void close(RestorationState::Origin origin);
  Restored summary() const;

  RestorationState& state_;
  FrameState& frame_;
  Context& context_;
  Restorer restorer_;
  Sources& sources_;
};

// For snapshots.
void save_restoration(const RestorationState& state, v1::RestorationState& into);
bool load_restoration(const v1::RestorationState& from, RestorationState& into);

}  // namespace tenure
