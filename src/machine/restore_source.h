#pragma once

// What a member remembers of a log that was lost, as parts of bounded size, in the order in which every member has it.

#include <cstdint>
#include <set>

#include "machine/keys/remember_keys.h"
#include "machine/state.h"

namespace tenure {

namespace v1 {
class Restore;
}  // namespace v1

class Machine;

// Must not outlive the machine it was made from, which must not change.
class RestoreSource {
 public:
  explicit RestoreSource(const MachineState& remembered);

  // Goes on behind what the new log has already.
  void go_on_after(const Machine& present);
  // The next part, of about so many bytes: a single job may be larger. The last one says that it is the last.
  void next(std::size_t bytes, v1::Restore& into);
  bool at_end() const { return ended_; }

 private:
  void add_senders(v1::Restore& into) const;
  // False if there is more of the key than the part takes.
  bool take_key(std::size_t bytes, std::size_t& size, v1::Restore& into);

  const MachineState& state_;
  RememberedKeys keys_;
  std::size_t at_ = 0;  // of keys_
  RememberedKeys::Place place_;
  bool begun_ = false;  // the key at at_: some of its jobs are back
  bool ended_ = false;
  bool first_ = true;              // the next part is the first of this source
  std::set<std::uint64_t> there_;  // of that key: tickets of jobs that another member has put back
};

}  // namespace tenure
