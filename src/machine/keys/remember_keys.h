#pragma once

// The jobs of a state that nobody applies any more, key by key, in the order in which every member has them. Who held
// them is left out: the holders' sessions have ended with the log. So is a job that was being stopped.

#include <cstdint>
#include <map>
#include <vector>

#include "machine/frame_state.h"
#include "machine/keys/keys_state.h"

namespace tenure {

namespace v1 {
class RememberedJob;
class RememberedKey;
}  // namespace v1

// The order of keys: by hash, then by bytes.
bool comes_before(BytesView a, BytesView b);

// Must not outlive the state, which must not change.
class RememberedKeys {
 public:
  RememberedKeys(const KeysState& state, const FrameState& frame);

  // A place among the jobs of one key: first those of its line, then the delayed ones, then the dead tasks.
  struct Place {
    enum class List : std::uint8_t { line, delayed, dead, end } list = List::line;
    JobId job = kNone;
    std::size_t letter = 0;
  };

  std::size_t size() const { return keys_.size(); }
  BytesView key(std::size_t at) const;
  // Of the first key behind this one.
  std::size_t behind(BytesView key) const;
  Place first(std::size_t at) const;
  // All of the key but its jobs.
  void encode(std::size_t at, v1::RememberedKey& into) const;
  // The job at a place that is not the end. Returns the next place.
  Place encode(std::size_t at, Place place, v1::RememberedJob& into) const;

 private:
  struct Entry {
    std::uint64_t hash;
    SlotId slot;         // kNone: only dead tasks
    std::uint32_t dead;  // of dead_tasks_; kNone: no dead tasks
  };
  struct DeadTasks {
    BytesView key;
    std::vector<std::uint64_t> letters;
  };

  void gather_dead(std::map<BytesView, std::uint32_t>& by_key);
  BytesView key_of(const Entry& entry) const;
  bool before(const Entry& entry, std::uint64_t hash, BytesView key) const;
  Place skip_empty(const Entry& entry, Place place) const;
  void encode_letter(std::uint64_t letter, v1::RememberedJob& into) const;

  const KeysState& state_;
  const FrameState& frame_;
  std::vector<DeadTasks> dead_tasks_;
  std::map<JobId, std::uint64_t> dead_residents_;  // -> letter
  std::vector<Entry> keys_;
};

}  // namespace tenure
