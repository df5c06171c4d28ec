#pragma once

// Sends a node's records in few batches: while one batch is in flight, the next one gathers. Only one is in flight,
// which keeps the order when an answer is lost and the batch must be sent again. Under load a batch has hundreds of
// records, so the log gets few appends.
//
// There are two lanes, and each keeps its order. Within a batch, the protocol's own records come before the users'
// requests. So a holder's reports about its keys do not wait behind megabytes of jobs that were dispatched here. A
// batch takes records of both lanes, so neither lane starves.

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
constexpr std::size_t kBatchBytes = 256U << 10;    // of each lane; a batch is cut after the record that reaches it
constexpr std::size_t kLastRecordRoom = 4U << 10;  // room for the record beyond that, unless it is large

class AppenderEvents {
 public:
  virtual ~AppenderEvents() = default;
  // A batch was given up after kResendMsMax of lost answers. It may or may not be in the log.
  virtual void append_gave_up() = 0;
  // The engine accepts no more appends. An unacknowledged batch may or may not be in the log.
  virtual void append_refused(const Error& error) = 0;
  // The engine accepts nothing now, and nothing in flight is in the log. It is tried again. Called once.
  virtual void append_delayed(const Error&) {}
  // The engine accepts appends again.
  virtual void append_resumed() {}
  // Less than kUnsentBytesMax waits again, after has_room() was false.
  virtual void append_has_room() {}
};

// Called on the loop, with the record's batch: when it is passed to the log for the first time, and when its position
// in the log is known. Earlier records of the same lane have then been sent, or are in the log, too.
struct Milestones {
  std::function<void(Instant)> sent;
  std::function<void(Position)> appended;
};

// Belongs to the node's loop.
class Appender {
 public:
  Appender(Log& log, Loop& loop, const Clock& clock, Entropy& entropy, AppenderEvents& events);

  // The protocol's own records. Always accepted, because they are bounded by what the node holds.
  void offer(const v1::Record& record, Milestones milestones = {});
  // The same for a record that must not overtake the users' requests before it.
  void offer_behind_requests(const v1::Record& record, Milestones milestones = {});
  // A user's request, encoded by append_record().
  void offer_request(BytesView encoded, Milestones milestones = {});
  // Several requests, one after the other. If they are about a batch in size, takes their memory.
  void offer_requests(Bytes& encoded);
  // The node's reader is at this position, and has met this sender's batches up to `sequence`. False if an acknowledged
  // batch is missing there. Call it after every entry.
  bool all_met(Position at, std::uint64_t sequence);
  // The reader starts over. Batches that were acknowledged before are not expected any more.
  void reader_reloaded();
  std::uint64_t sender() const { return sender_; }
  // For milestones: the batch was sent more than once, and a copy may follow later in the log.
  bool resent() const { return in_doubt_; }

  // For long work on one entry while the log may be idle: sends what was offered. Waits until the log has rested for as
  // long as it needs for a batch, so that a slow log gathers more instead.
  void send_meanwhile();

  // Ask before offering users' records: false while kUnsentBytesMax wait to be sent. Then append_has_room() tells when
  // there is room.
  bool has_room();

 private:
  struct Gathered {
    Bytes records;  // encoded, ready to follow a batch's head
    std::vector<Milestones> milestones;
  };
  using Queue = std::deque<Gathered>;

  // The answer to the batch in flight, from the engine's thread to the thread that looks first.
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
  std::deque<Acknowledged> unmet_;  // not met by the reader yet
  std::uint64_t met_ = 0;           // the last sequence that the reader has met

  Queue own_;
  Queue requests_;
  std::size_t waiting_bytes_ = 0;  // in both lanes
  bool room_wanted_ = false;       // has_room() returned false
  Bytes spare_;                    // memory of sent records, for reuse
  bool scheduled_ = false;

  bool under_way_ = false;
  Bytes batch_;  // the batch in flight, to send it again
  Instant first_sent_;
  const std::shared_ptr<Answer> answer_ = std::make_shared<Answer>();
  Nanos took_{0};                       // how long the last acknowledged batch took, from its first send
  Instant rests_from_;                  // since when nothing is in flight
  std::vector<Milestones> milestones_;  // of the batch in flight
  bool in_doubt_ = false;               // an answer to it was lost
  bool delayed_ = false;                // append_delayed() was called
  Timer retry_;
  Token token_;
};

}  // namespace tenure
