#pragma once

// Dispatches without a state: appends, follows the log from its own entry, and stops at the record that settles its
// ticket. It starts in constant time, however many keys the pool has.
//
// Acceptance and refusal are said in the log by the eldest member; starting and completion by the holder's records.
// Where nobody answers in time, or where it cannot be told without the state whether a record counts, the client
// loads the state after all and folds the log itself: the answer is a function of the log.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/entropy.h"
#include "base/loop.h"
#include "log/log.h"
#include "machine/decode.h"
#include "machine/effects.h"
#include "node/appender.h"
#include "node/replica.h"
#include "node/token.h"

namespace tenure {

namespace v1 {
class Batch;
class Record;
}  // namespace v1

class ClientEvents {
 public:
  virtual ~ClientEvents() = default;
  virtual void settled(const Settlement& settlement) = 0;
  // Nobody can say what became of it: the log lost it, or no longer has it.
  virtual void ticket_lost(std::uint64_t ticket) = 0;
  virtual void broken(const Error& error) = 0;
};

// Belongs to one loop.
class Client final : private ReplicaEvents, private AppenderEvents {
 public:
  Client(Log& log, Loop& loop, const Clock& clock, Entropy& entropy, ClientEvents& events,
         Nanos patience = std::chrono::seconds(1));
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sends a record that asks for something (dispatch, notify, stop, retry_dead, drop_dead), under a new ticket.
  // `single`: being accepted is all there is to hear of it.
  Result<std::uint64_t> send(v1::Record record, bool single);
  // Nobody waits for it any more.
  void forget(std::uint64_t ticket) { tickets_.erase(ticket); }
  bool folding() const { return replica_ != nullptr; }

 private:
  struct Waiting {
    bool accepted = false;
    bool single = false;
    std::optional<Position> at;  // of its own entry, once that is known
  };

  void follow(const Cursor& from);
  void read();
  void take(Result<std::vector<Entry>> entries);
  void look(const v1::Batch& batch);
  bool doubtful(std::uint64_t session) const { return shaken_.contains(session); }
  void fold();
  void tell(const Settlement& settlement);
  void find_lost();

  // While folding.
  void settled(const Settlement& settlement) override { tell(settlement); }
  void applied() override;
  void history_lost() override;
  void broken(const Error& error) override { events_.broken(error); }

  void append_gave_up() override;
  void append_refused(const Error& error) override { events_.broken(error); }

  Log& log_;
  Loop& loop_;
  Entropy& entropy_;
  ClientEvents& events_;
  Nanos patience_;
  Appender appender_;
  Decoder decoder_;
  std::map<std::uint64_t, Waiting> tickets_;
  std::optional<Cursor> cursor_;    // set while following
  std::set<std::uint64_t> shaken_;  // sessions that may have ended since the log is followed
  bool reading_ = false;
  std::unique_ptr<Replica> replica_;  // set while folding
  Position fold_until_ = 0;           // where the log's end was when folding began
  Timer impatience_;
  Timer retry_;
  Token token_;
};

}  // namespace tenure
