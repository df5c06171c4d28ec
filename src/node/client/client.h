#pragma once

// Dispatches without a state: appends, follows the log from its own entry, and stops at the record that settles its
// ticket. It starts in constant time, however many keys the pool has.
//
// Questions are answered by the eldest member; whoever asks has to do without an answer, too.
//
// Acceptance and refusal are said in the log by the eldest member; starting and completion by the holder's records.
// Where nobody answers in time, or where it cannot be told without the state whether a record counts, the client
// loads the state after all and applies the log itself: the answer is a function of the log.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/entropy.h"
#include "base/loop.h"
#include "log/log.h"
#include "machine/decode.h"
#include "machine/effects_tee.h"
#include "node/appender.h"
#include "node/node_events.h"
#include "node/replica.h"
#include "node/request.h"
#include "node/tickets.h"
#include "node/token.h"

namespace tenure {

namespace v1 {
class Ask;
class Batch;
class Told;
}  // namespace v1

// Belongs to one loop.
class Client final : private ReplicaEvents, private AppenderEvents {
 public:
  Client(Log& log, Loop& loop, const Clock& clock, Entropy& entropy, ClientEvents& events,
         Nanos patience = std::chrono::seconds(1), std::uint32_t speaks = kMachineVersion);
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Gives a ticket, whose fate ClientEvents::settled tells. Refused at once: what is over a bound (Errc::invalid), and
  // what finds the way to the log full (Errc::busy).
  Result<std::uint64_t> ask(const Request& request);
  // The same for a request that comes sealed and asks for its outcome to be said: `ticket` is told, too.
  Status send(const SealedRequest& request, std::shared_ptr<OpenTicket> ticket);
  // The same for several: all of them are taken, or none.
  Status send(SealedRequests& requests);
  // Asks the members. `told` is called once, or never: where nobody answers, or what they say is not followed.
  std::uint64_t inquire(v1::Ask ask, std::function<void(v1::Told)> told);
  // Nobody waits for the answer any longer.
  void forget(std::uint64_t question) { questions_.erase(question); }
  // False: what is sent now is refused as busy, and ClientEvents::room_for_requests() says when there is room.
  bool has_room() { return appender_.has_room(); }
  // How many of all tickets have been answered, or were given up.
  std::uint64_t answered() const { return tickets_.answered(); }
  // Nobody will wait any longer.
  void give_up_tickets(const Error& error) { tickets_.give_up_all(error); }
  bool keeps_state() const { return replica_ != nullptr; }

 private:
  void take_in(const SealedRequest& request, std::shared_ptr<OpenTicket> ticket);
  void request_appended(std::uint64_t ticket, Position at);
  void follow(const Cursor& from);
  void read();
  void take(const Result<std::vector<Entry>>& entries);
  void look(const v1::Batch& batch);
  void hear(const Settlement& settlement, std::uint64_t session);
  void watch_patience();
  void load_state();
  void nudge();

  // While it keeps a state.
  void applied() override;
  void reloaded() override;
  void history_lost() override { replica_->resume(); }
  void broken(const Error& error) override { events_.broken(error); }

  void append_gave_up() override { tickets_.append_gave_up(); }
  void append_refused(const Error& error) override { events_.broken(error); }
  void append_delayed(const Error& error) override { events_.log_delayed(error); }
  void append_resumed() override { events_.log_resumed(); }
  void append_has_room() override { events_.room_for_requests(); }

  Log& log_;
  Loop& loop_;
  Entropy& entropy_;
  ClientEvents& events_;
  Nanos patience_;
  std::uint32_t speaks_;  // the newest machine version that it applies
  Appender appender_;
  Decoder decoder_;
  Tickets tickets_;
  EffectsTee effects_;  // what the machine says while it keeps a state: to the tickets
  std::map<std::uint64_t, std::function<void(v1::Told)>> questions_;
  std::optional<Cursor> cursor_;    // set while following
  std::set<std::uint64_t> shaken_;  // sessions that may have ended since the log is followed
  bool reading_ = false;
  bool load_wanted_ = false;
  std::unique_ptr<Replica> replica_;  // set while it keeps a state
  Timer impatience_;
  Timer retry_;
  Token token_;
};

}  // namespace tenure
