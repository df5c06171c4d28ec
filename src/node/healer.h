#pragma once

// Puts the pool back after its log has lost everything. Every member has the whole state in memory. When its log loses
// applied entries, a member keeps its state and joins the present log. The next step depends on that log:
//
//   nobody has begun a new pool in it   the member that remembers most sends its state; if it does not begin in time,
//                                       or dies, the next one does
//   anything else                       nothing changes; the member keeps the state for an hour, for a person who asks
//
// A log may be lost again before the pool is back in it. Its content is then a fragment: the jobs that came after the
// first loss. A member keeps the fragment and the pool, but puts back only one of them: the pool, if any member
// remembers it.
//
// A member puts nothing back if the pool may have been shut down meanwhile. While the member's own lease is valid, this
// is impossible, since a pool ends only after all its sessions have. If the lease had run out before the member noticed
// the loss, the engine must say whether the pool was removed (Snapshot::removed_ms). Redis knows this for an hour.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/loop.h"
#include "log/log.h"
#include "machine/machine.h"
#include "node/appender.h"
#include "node/node_events.h"
#include "node/remembered.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

class HealerEvents {
 public:
  virtual ~HealerEvents() = default;
  // The log lost a state that no member puts back unasked. Called once.
  virtual void not_restored(std::string_view why) = 0;
};

// Belongs to the node's loop.
class Healer final : public PoolEffects {
 public:
  struct Options {
    bool on = true;         // puts the state back unasked
    bool remembers = true;  // false: keeps nothing of a lost log
    Nanos lease;
    std::size_t part_bytes;
  };

  Healer(Loop& loop, Appender& appender, const Options& options, HealerEvents& events);

  // The log lost what this node had applied. `lease_valid`: its session cannot have ended. `applied_at`: when it last
  // heard of the log.
  void history_lost(bool lease_valid, Instant applied_at);
  // Call it after history_lost() to drop the state: it is wrong, or the log still has it.
  void distrust() { lost_.reset(); }
  // Another state has taken the place of `last`. `removed_ms`: what the engine says.
  void reloaded(std::unique_ptr<Machine> last, std::optional<std::int64_t> removed_ms);
  // For the next join.
  const Remembered& remembered() const { return remembered_; }
  // A person asks what members remember, or asks to put it back.
  void asked(const At& at, const v1::Ask& ask) override;
  void restored(const At& at, const Restored& it) override;
  // After each entry. `session` is the node's own, zero if it is not in the pool.
  void look(const Machine& present, std::uint64_t session);

 private:
  struct Question {
    std::uint64_t number;
    std::size_t limit;
    bool apply;
  };

  // Whether the pool may have been shut down when its log lost everything.
  enum class Doubt : std::uint8_t {
    none,      // the lease was valid
    removal,   // it had run out a while ago: the engine still knows if the pool was removed
    anything,  // it had run out long ago, or the pool was being shut down
  };
  struct Memory {
    std::unique_ptr<Machine> state{};  // null: nothing is remembered
    Doubt doubt = Doubt::anything;     // when it was lost
    bool restores = false;             // it may be put back without being asked for
  };
  void judge(Memory& memory, std::optional<std::int64_t> removed_ms) const;
  void choose();
  bool remembers() const { return pool_.state != nullptr || fragment_.state != nullptr; }
  bool restores() const { return pool_.restores || fragment_.restores; }
  const Machine& chosen() const { return chosen_fragment_ ? *fragment_.state : *pool_.state; }
  void answer(const Machine& present, std::uint64_t session);
  void go_on_with_request(const Machine& present, std::uint64_t session);
  void forget();
  void stop();
  void wait(const Machine& present, std::uint64_t session);
  bool must_not_be_first(const Machine& present) const;
  Instant all_stopped(const Machine& present) const;
  void begin(const Machine& present);
  void send(const Machine& present);
  // The number of members that remember more.
  std::size_t rank(const Machine& present, std::uint64_t session, bool of_restoring) const;

  Loop& loop_;
  Appender& appender_;
  const Options options_;
  HealerEvents& events_;

  std::optional<Doubt> lost_;  // history was lost; until another state is there
  Memory pool_;
  Memory fragment_;
  bool chosen_fragment_ = false;  // of the two, what is put back and told
  Instant lost_at_;               // when this node noticed the last loss
  bool said_ = false;
  Remembered remembered_;
  Timer forget_;

  std::unique_ptr<RestoreSource> source_;       // set while this node puts the state back
  std::uint64_t session_ = 0;                   // under which
  std::uint64_t sent_ = 0;                      // parts
  std::uint64_t applied_ = 0;                   // of them, when it was last looked
  const Machine* present_ = nullptr;            // while a timer is armed: of the replica
  std::uint64_t request_ = 0;                   // of a person; zero: by itself
  std::optional<Question> question_;            // the last one; not yet answered
  std::optional<v1::Record> answer_when_back_;  // to a person who wants the state back
  bool added_ = false;                          // what some member remembers was put back on request a moment ago
  Timer answer_;
  std::optional<Instant> waits_since_;  // for its turn
  Timer turn_;                          // when it is this node's turn to begin, or to look whether it gets on
};

}  // namespace tenure
