#pragma once

// The feeder of one partition, for one tenure: reads events, and emits them as tasks.
//
//      ask ──▶ find ──▶ ask ──▶ open ──▶ run ◀──┐
//       ▲    (new only)          ▲        │     │ the partition is another one: a new sequence, whose name is
//       └── lost_history ────────┴────────┴─────┘ in the log before anything of it is emitted
//
// The pool stores how far the sequence was taken in. The checkpoint stores the name of the sequence, its start, and a
// few marks by which the source recognises the partition. A feed sends its checkpoint and then a question, so the
// answer confirms both.
//
// One emit is in flight at a time, and the feed reads the next one meanwhile. It repeats an emit whose outcome is not
// known, which the pool takes in once. The feed buffers at most one emit. So when the pool's queue is full, the feed
// stops reading, and the source stops fetching. A run with a loss, or one of another partition, waits until everything
// before it was emitted.

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "feeder/batch.h"
#include "feeder/outside.h"
#include "feeder/state.h"
#include "feeder/voice.h"
#include "source/source.h"

namespace tenure::feeder {

constexpr Nanos kEmitPatience = std::chrono::seconds(30);
constexpr Nanos kRetryFirst = std::chrono::milliseconds(5);
constexpr Nanos kRetryMost = std::chrono::seconds(1);
constexpr Nanos kForgetAfter = std::chrono::minutes(3);

struct FeedParts {
  const Spec& spec;
  source::Source& source;
  Outside& outside;
  Post post;
  // How many bytes this feed may hold. May change.
  std::function<std::size_t()> bytes_max;
};

class Feed final : public Duty {
 public:
  Feed(FeedParts parts, Bytes partition, Hold hold, const std::optional<Bytes>& checkpoint);

  bool step(Instant now) override;
  Instant due() const override;
  bool hungry() const override;
  void look_at_end(Instant now) override;
  std::optional<Bytes> stop() override;

  // True if another tenure has taken over, or the pool is closed.
  bool over() const { return phase_ == Phase::over; }

 private:
  enum class Phase : std::uint8_t { ask, asking, find, open, run, over };

  void ask(Instant now);
  void asked(const Result<std::uint64_t>& answer);
  void find(Instant now);
  void open(Instant now);
  void reopen();

  bool fetch(Instant now);
  bool admit_held();
  void change_to(const source::Run& run);
  void note_source_error(const Error& error, Instant now);

  bool send(Instant now);
  std::size_t fitting();
  void add_report(Emission& emission, Instant now);
  void emit(Instant now);
  void answered(const Result<std::uint64_t>& answer);
  void take_back(const Error& why);
  void put_back();
  void settle_room();
  void tell(Instant now);
  void forget_old(Instant now);
  void pause(Nanos first, Nanos most);

  const FeedParts parts_;
  const Bytes partition_;
  const Hold hold_;
  const std::shared_ptr<Emitter> emitter_;
  FeedState state_;
  Batch batch_;
  Voice voice_;

  Phase phase_ = Phase::ask;
  bool unsaved_ = false;             // the checkpoint must be in the log before the next step
  bool opened_ = false;              // the partition, at the right position
  std::uint64_t known_ = 0;          // the position that the pool answered
  std::uint64_t emitted_ = 0;        // everything up to here is in the pool
  std::optional<source::Run> held_;  // read, but not yet in the batch
  std::shared_ptr<Emission> flight_;
  bool waiting_ = false;                 // for an answer
  std::uint64_t number_ = 0;             // of the call that is waited for
  std::vector<std::uint32_t> reserved_;  // by shard: tasks of the flight
  std::size_t most_ = kEmitTasksMax;     // the limit on tasks in an emit; lower after a refusal
  Nanos backoff_{0};
  Instant pause_until_{};  // for asking, opening and emitting
  Instant read_pause_until_{};
  bool blocked_ = false;  // the queue has no room
  Instant moved_at_{};    // the last emit
  Instant saved_at_{};    // the last checkpoint
  Instant noted_at_{};
  bool forgetting_ = false;
  std::optional<Instant> forget_at_;
  Instant now_{};
};

}  // namespace tenure::feeder
