#pragma once

// Reads the simulated log at the moment of each append, applies it to its own machine, and records the effects. The
// checker, which knows the promises and not the machine, judges them. Every node's digest must be equal to the
// onlooker's at the same entry.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "machine/machine.h"
#include "sim/checker/history.h"
#include "sim/pool/recorder.h"
#include "sim/world/log_server.h"

namespace tenure::sim {

Step step_of(TicketState state);

class Onlooker final : private Effects {
 public:
  Onlooker(LogServer& server, Recorder& recorder);
  ~Onlooker() override;

  const Machine& machine() const { return *machine_; }
  // A process has applied the entry, read from the log at this position with these bytes, and has this digest.
  void applied(ProcessNumber process, Position position, std::uint64_t digest);
  // A ticket that no client waits for.
  void ignore(std::uint64_t ticket) { of_partitions_.insert(ticket); }
  // The newest machine version that any log of the run has switched to.
  std::uint32_t newest_version() const { return newest_version_; }
  // The ticket of a buried job, by its number in the machine; zero if it was buried in a log that is a ghost now.
  std::uint64_t buried_ticket(std::uint64_t dead_id) const {
    const auto found = graves_.find(dead_id);
    return found == graves_.end() ? 0 : found->second;
  }

 private:
  void take(const LogServer::Stored& stored);
  void take_ghost(const LogServer::Stored& stored, LogServer::LogNumber log);
  void replaced(bool wiped);
  void look_for_left_waiting();
  void write_holders_words(const LogServer::Stored& stored);
  void rebuild(Position kept, bool removed);
  void write_ranked(BytesView worker, bool open);
  std::uint64_t backlog_with(BytesView part) const;

  void restoring(const At&, const Restored& it) override;
  void restored(const At&, const Restored& it) override;
  void job_restored(const At&, BytesView key, std::uint64_t ticket, bool dead) override;
  void emitted(const At&, const Emitted& it) override;
  void source_restored(const At&, BytesView source, std::uint64_t position) override;
  void granted(const At&, const Grant& grant) override;
  void ended(const At&, const TenureRef& tenure, TenureEnd why) override;
  void buried(const At&, BytesView key, std::uint64_t dead_id, bool quarantined) override;
  void settled(const At&, const Settlement& settlement) override;
  void joined(const At&, std::uint64_t session) override;
  void session_ended(const At&, std::uint64_t session, SessionEnd how) override;
  void worker_added(const At&, std::uint64_t session, BytesView worker) override;
  void worker_refused(const At&, std::uint64_t session, BytesView worker, Errc why) override;
  void worker_unfit(const At&, std::uint64_t session, BytesView worker, BytesView error) override;
  void worker_fit(const At&, std::uint64_t session, BytesView worker) override;
  void worker_removed(const At&, std::uint64_t session, BytesView worker) override;
  void shutdown_began(const At&) override;
  void shutdown_drained(const At&) override;
  void partitions_set(const At&, const Ring& ring) override;
  void partition_made(const At&, BytesView key, std::uint64_t ticket) override;
  void stop_asked(const At&, const TenureRef& tenure, StopReason reason) override;

  LogServer& server_;
  Recorder& recorder_;
  std::unique_ptr<Machine> machine_;
  std::map<LogServer::LogNumber, std::unique_ptr<Machine>> ghosts_;  // the states of logs that were replaced
  bool silent_ = false;                                              // applying again what was written down before
  bool ghost_ = false;                                               // applying an entry of a ghost
  std::uint64_t failed_last_ = 0;
  std::uint32_t newest_version_ = 0;
  std::map<std::uint64_t, std::uint64_t> graves_;
  std::set<std::uint64_t> of_partitions_;  // tickets
  struct Appended {
    std::size_t losses;  // of the log so far
    bool ghost;
  };
  // By the log's origin, and the entry's position and time: positions come again when the tail is lost.
  std::map<std::tuple<std::uint64_t, Position, std::int64_t>, Appended> appended_;
  std::size_t losses_ = 0;
  std::map<LogServer::LogNumber, std::size_t> log_losses_;  // when a ghost became one
  struct Known {
    std::uint64_t order;
    std::uint64_t digest;
  };
  std::unordered_map<Position, std::vector<Known>> known_;  // several after a loss, if positions come again
};

}  // namespace tenure::sim
