#pragma once

// The part `sources`: residents hand over tasks, each exactly once.
//
// A resident reads a source outside the pool: an ordered sequence of events with growing positions. The state keeps,
// for each source, the position up to which this shard has everything, and the epoch of the last tenure that was heard.
// An emit brings a position and tasks, and is applied as a whole. It changes nothing if
//
//   - its position is not above the one that is kept: the shard has these tasks already,
//   - it comes from an older epoch, or from a tenure that is over (only the shard of the tenure's key knows that),
//   - it continues from a position that this shard has not reached: the shard lost entries, and tasks would be missing,
//   - there is no room for all of its tasks.
//
// An emit may also report events that the source has lost, with the position: they count once, as tasks do. The shard
// of the key keeps that count, and what the feeders of sources say besides: how far the source itself is, what is the
// matter with it, and a checkpoint for the key's next holder.
//
// Tasks have the positions of their events, too. So the next holder may cut the same events into other emits: the shard
// leaves out what it has.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "machine/sources/source_state.h"

namespace tenure {

namespace v1 {
class Dispatch;
class Emit;
class ForgetSource;
class LostEvents;
class Restore;
class SourcesState;
}  // namespace v1

class Context;

class Sources {
 public:
  Sources(SourcesState& state, Context& context) : state_(state), context_(context) {}

  // `undecided`: the log may still get back what it has lost, and the positions with it. Returns the tasks that were
  // taken in.
  std::vector<const v1::Dispatch*> on(const v1::Emit& record, bool undecided);
  void on(const v1::ForgetSource& record);
  // A member begins to put back what it remembers. Positions only grow.
  void put_back(const v1::Restore& record);
  // A member that knows less goes on with it.
  void lower(const v1::Restore& record);

 private:
  // Why nothing of an emit is taken in.
  struct Refusal {
    Errc code;
    Bytes why;
  };

  std::optional<Refusal> judge(const v1::Emit& record, bool undecided, const Source* known) const;
  bool is_home(const v1::Emit& record) const;
  std::vector<const v1::Dispatch*> take_in(const v1::Emit& record, Source& source);
  void note_loss(const v1::LostEvents& lost, std::uint64_t count, std::uint64_t before, Source& source);
  void note_report(const v1::Emit& record, Source& source);

  SourcesState& state_;
  Context& context_;
};

// For snapshots.
void save_sources(const SourcesState& sources, v1::SourcesState& into);
bool load_sources(const v1::SourcesState& from, SourcesState& into);

}  // namespace tenure
