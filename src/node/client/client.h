#pragma once

// Dispatches without a state: appends, follows the log from its own entry, and stops at the record that settles its
// ticket. It starts in constant time, however many keys the pool has.
//
// The eldest member answers questions. Callers must handle a missing answer, too.
//
// The eldest member reports acceptance and refusal in the log; the holder's records report starts and ends. If nobody
// answers in time, or if the state is needed to know whether a record counts, the client loads the state and applies
// the log itself.

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
#include "machine/machine.h"
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

  // Its first request brings these along, for a pool that has no options yet.
  void set_options(const PoolConfig& options) { options_ = options; }

  // Gives a ticket, whose fate ClientEvents::settled tells. Refused at once: what is over a bound (Errc::invalid), and
  // what finds the way to the log full (Errc::busy).
  Result<std::uint64_t> ask(const Request& request);
  // The same for an encoded request that wants its outcome in the log. The outcome is also reported to `ticket`.
  Status send(const SealedRequest& request, std::shared_ptr<OpenTicket> ticket);
  // The same for several requests. Takes all of them or none.
  Status send(SealedRequests& requests);
  // Asks the members. `told` is called once, or never if nobody answers, or if the client stops following the log.
  std::uint64_t inquire(v1::Ask ask, std::function<void(v1::Told)> told);
  // Nobody waits for the answer any more.
  void forget(std::uint64_t question) { questions_.erase(question); }
  // False: requests are refused as busy now. ClientEvents::room_for_requests() tells when there is room.
  bool has_room() { return appender_.has_room(); }
  // How many of all tickets were answered or given up.
  std::uint64_t answered() const { return tickets_.answered(); }
  // Answers all tickets with the error, because nobody will wait.
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

  // With the state loaded.
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
  std::optional<PoolConfig> options_;  // still to be said
  std::uint32_t speaks_;               // the newest machine version that it applies
  Appender appender_;
  Decoder decoder_;
  Tickets tickets_;
  EffectsTee effects_;  // effects of the machine, for the tickets
  std::map<std::uint64_t, std::function<void(v1::Told)>> questions_;
  std::optional<Cursor> cursor_;    // set while following
  std::set<std::uint64_t> shaken_;  // sessions that may have ended since the client follows the log
  bool reading_ = false;
  bool load_wanted_ = false;
  std::unique_ptr<ReplicaOf<Machine>> replica_;  // set once the state is loaded
  Timer impatience_;
  Timer retry_;
  Token token_;
};

}  // namespace tenure
