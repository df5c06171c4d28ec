#pragma once

// Sends a node's records as few batches: while one batch is under way the next one gathers. One at a time is what keeps
// the order when an answer is lost and the batch must be sent again; under load a batch carries hundreds of records, so
// that the log is asked seldom.
//
// There are two lanes, and each keeps its order. The protocol's own records lie before the users' requests of the same
// batch: what a holder has to say of its keys, be it that it lets go of one, does not wait behind megabytes of jobs
// that somebody has dispatched here. A batch takes some of each, so that neither lane waits for the other to run dry.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/entropy.h"
#include "base/loop.h"
#include "log/log.h"
#include "node/token.h"

namespace tenure {

namespace v1 {
class Record;
}  // namespace v1

constexpr std::size_t kUnsentBytesMax = 16U << 20;
constexpr std::size_t kBatchBytes = 256U << 10;    // of each lane; a batch is cut after the record that reaches this
constexpr std::size_t kLastRecordRoom = 4U << 10;  // for what goes beyond, if it is not a large one

class AppenderEvents {
 public:
  virtual ~AppenderEvents() = default;
  // A batch was given up after kResendMsMax of lost answers: it may or may not be in the log.
  virtual void append_gave_up() = 0;
  // The engine will take no more; what was not yet acknowledged may or may not be in the log.
  virtual void append_refused(const Error& error) = 0;
  // The engine takes nothing now, and nothing of what is under way is in the log: it will be tried again. Said once.
  virtual void append_delayed(const Error&) {}
  // It takes records again.
  virtual void append_resumed() {}
  // Less than kUnsentBytesMax waits to be sent again, after has_room() was false.
  virtual void append_has_room() {}
};

// Called on the loop, with the record's batch: at the moment it is handed to the log for the first time, and once
// it is known to lie in the log, and where. What was offered to the same lane earlier has then been sent, or is in the
// log, too.
struct Milestones {
  std::function<void(Instant)> sent;
  std::function<void(Position)> appended;
};

// Belongs to the node's loop.
class Appender {
 public:
  Appender(Log& log, Loop& loop, const Clock& clock, Entropy& entropy, AppenderEvents& events);

  // The protocol's own records: always taken, since they are bounded by what the node holds.
  void offer(const v1::Record& record, Milestones milestones = {});
  // The same, for a record that must not overtake the users' requests which were offered before it.
  void offer_behind_requests(const v1::Record& record, Milestones milestones = {});
  // A user's request, encoded by append_record().
  void offer_request(BytesView encoded, Milestones milestones = {});
  // Several of them, one behind the other. Where they are about a batch, their memory is taken.
  void offer_requests(Bytes& encoded);
  // The node's reader is at this position, and has met this sender's batches up to `sequence` on its way. False: a
  // batch that was acknowledged is not there. To be called after every entry.
  bool all_met(Position at, std::uint64_t sequence);
  // The reader begins anew, and what was acknowledged before is not looked for any more.
  void reader_reloaded();
  std::uint64_t sender() const { return sender_; }
  // While milestones are being called: the batch was sent more than once, and may lie further ahead as well.
  bool resent() const { return in_doubt_; }

  // For one who has been at an entry for long and is not done with it, while the log may have nothing to do: sends what
  // was offered. Not before the log has rested for as long as it needs for a batch, so that where it is slow, more is
  // gathered instead.
  void send_meanwhile();

  // To be asked before offering users' records: false while kUnsentBytesMax wait to be sent. Then append_has_room()
  // says when there is room.
  bool has_room();

 private:
  struct Gathered {
    Bytes records;  // encoded, ready to follow a batch's head
    std::vector<Milestones> milestones;
  };
  using Queue = std::deque<Gathered>;

  // The answer to what is under way, from the engine's thread to whoever looks first.
  struct Answer {
    std::mutex mutex;
    std::optional<Result<Position>> came;  // guarded by mutex

    void put(Result<Position> answer);
    std::optional<Result<Position>> take();
  };

  Gathered& gathering(Queue& queue);
  void gather(Queue& queue, const v1::Record& record, Milestones milestones);
  void gathered(Gathered& last, std::size_t before, Milestones milestones);
  void take_first(Queue& queue);
  void schedule();
  void tell_room();
  void send_next();
  void transmit();
  void look_for_answer();
  void answered(Result<Position> answer);
  void acknowledged(Position position);

  Log& log_;
  Loop& loop_;
  const Clock& clock_;
  AppenderEvents& events_;
  Backoff backoff_;
  std::uint64_t sender_;
  std::uint64_t sequence_ = 0;

  struct Acknowledged {
    std::uint64_t sequence;
    Position position;
  };
  std::deque<Acknowledged> unmet_;  // and not yet met by the reader
  std::uint64_t met_ = 0;           // the last sequence that the reader has met

  Queue own_;
  Queue requests_;
  std::size_t waiting_bytes_ = 0;  // in both
  bool room_wanted_ = false;       // has_room() was false
  Bytes spare_;                    // memory of what has been sent, to gather in again
  bool scheduled_ = false;

  bool under_way_ = false;
  Bytes batch_;  // what is under way, for sending it again
  Instant first_sent_;
  const std::shared_ptr<Answer> answer_ = std::make_shared<Answer>();
  Nanos took_{0};                       // the last batch that was acknowledged, from when it was first sent
  Instant rests_from_;                  // since when nothing is under way
  std::vector<Milestones> milestones_;  // of what is under way
  bool in_doubt_ = false;               // some answer to it was lost
  bool delayed_ = false;                // said so
  Timer retry_;
  Token token_;
};

}  // namespace tenure
