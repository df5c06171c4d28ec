#pragma once

// The wires between the processes and the simulated log, and their faults. A request travels to the server, takes
// effect there or not, and its answer travels back. Each leg can be slow, cut or lost, and a request that its sender
// has given up can still arrive much later. The sender learns only what a real client could know.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "log/log.h"
#include "sim/world/log_server.h"
#include "sim/world/process.h"

namespace tenure::sim {

// Probabilities are per request.
struct WireOptions {
  Time latency_min = 100 * kMicro;
  Time latency_max = 2 * kMilli;
  Time data_extra_max = 0;  // what the data lane waits longer than the beat lane
  Time timeout = 2 * kSecond;
  double request_lost = 0;
  double answer_lost = 0;
  double held = 0;  // the request is under way for long, and with it, at times, all behind it in its lane
  double duplicated = 0;
  Time late_max = 10 * kSecond;  // how late what is held or duplicated may arrive
  double split_reads = 0;        // a read gets a few entries only, though there are more
  // Of the appends whose answer is on its way when a node reads on, before it applies what it has read: the answer
  // comes while it does. No fault.
  double answered_meanwhile = 0;
  double snapshot_commit_fails = 0;
  double snapshot_load_fails = 0;
  Time doubt_max = 1200 * kMilli;  // how long a log that was replaced is read on
  bool beats_prove = true;         // as promise 7 of the port says; false: the bug that it excludes
};

// What lies between one host and the server.
struct Link {
  bool to_server_cut = false;
  bool to_host_cut = false;
  Time read_delay_max = 0;  // a slow reader
};

// One request under way. Its concrete type (sim_log.cc) knows what to do at the server and whom to tell.
class Call {
 public:
  virtual ~Call() = default;
  virtual void serve(LogServer& server) = 0;
  // For a read without news: not served yet, to be parked.
  virtual bool waits() const { return false; }
  virtual void fail(Error error) = 0;
  virtual void deliver() = 0;
  // What arrives a second time, with nobody to tell. Null for what is never sent twice.
  virtual std::unique_ptr<Call> duplicate() const { return nullptr; }

  enum class Kind : std::uint8_t { append, read, load, commit, other };
  Kind kind = Kind::other;
  Lane lane = Lane::data;
  std::uint64_t connection = 0;  // zero: nobody waits for the answer
  Link* link = nullptr;
  SimLoop* engine = nullptr;  // the thread that answers are delivered on
  Process* process = nullptr;
  Time sent = 0;
  bool settled = false;   // it was served, or given up: its answer is on the way
  bool answered = false;  // of these, the former
  bool copied = false;    // another copy of it is under way, so nobody may say that it did not happen
};

class Wires {
 public:
  Wires(World& world, LogServer& server, WireOptions options);

  // A connection of a process over the link of its host, which must outlive it.
  std::unique_ptr<Log> connect(Process& process, Link& link);

  // Nobody can reach the server for a while; waiting requests get an error.
  void outage(Time span);
  bool down() const { return world_.now() < down_until_; }
  // Lets what the network had kept for a cut link arrive, as TCP does.
  void heal(Link& link);
  // Something was appended or lost without a call: wakes the readers concerned.
  void poke();
  // The log was replaced: its readers will come to notice.
  void replaced();
  // All faults of these wires are off from now on, and what their senders have given up does not arrive any more.
  void calm();

  LogServer& server() { return server_; }
  WireOptions& options() { return options_; }
  std::uint64_t faults() const { return faults_; }

  // For connections.
  std::uint64_t open() { return ++connections_; }
  void send(std::unique_ptr<Call> call);
  void forget(std::uint64_t connection);
  // Some answers that are on their way to the connection come now, as if on another thread.
  void answer_meanwhile(std::uint64_t connection);
  std::size_t entries_per_read();
  bool snapshot_fails(bool loading);
  Time doubt() { return dice_.between(kMilli, options_.doubt_max); }
  Time now() const { return world_.now(); }

 private:
  using Id = std::uint64_t;  // index and generation: an event for a call that is gone finds nothing

  struct Slot {
    std::unique_ptr<Call> call;
    std::uint32_t generation = 0;
    bool parked = false;
  };

  Id keep(std::unique_ptr<Call> call);
  Call* find(Id id);
  void release(Id id);
  std::unique_ptr<Call> copy_of(Call& call);
  void send_late(Call& call, Time arrival);
  Time latency(const Call& call);
  Time in_lane_order(const Call& call, Time arrival);
  void arrive(Id id);
  void arrive_at_cut(Id id);
  void answer(Id id);
  void hand_over(Id id);
  void deliver(Id id);
  void give_up(Id id, bool may_have_happened);

  World& world_;
  LogServer& server_;
  WireOptions options_;
  Dice dice_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<Id> parked_;
  struct Stashed {
    Link* link;
    std::unique_ptr<Call> call;
  };
  std::vector<Stashed> stashed_;
  struct LaneEnd {
    std::uint64_t connection;
    std::array<Time, 2> last;
  };
  std::vector<LaneEnd> lane_ends_;
  std::uint64_t connections_ = 0;
  Time down_since_ = 0;
  Time down_until_ = 0;
  std::uint64_t faults_ = 0;
};

}  // namespace tenure::sim
