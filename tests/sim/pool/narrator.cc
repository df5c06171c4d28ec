#include "sim/pool/narrator.h"

#include <cstdio>

#include "sim/checker/holds.h"

namespace tenure::sim {

namespace {

std::string text(std::uint64_t number) { return std::to_string(number); }
std::string who(ProcessNumber process) {
  return process == kOnlooker ? "onlooker" : std::string("p").append(std::to_string(process));
}

const char* name(Step step) {
  constexpr std::array<const char*, 6> kNames{"accepted", "refused", "started", "done", "failed", "stopped"};
  return kNames[static_cast<std::size_t>(step)];
}
const char* name(Ask ask) {
  constexpr std::array<const char*, 7> kNames{"resident", "task", "notify", "stop", "retry_dead", "drop_dead", "emit"};
  return kNames[static_cast<std::size_t>(ask)];
}
std::string with_code(Step step, Errc code) {
  return step == Step::refused ? std::string("refused: ").append(to_string(code)) : name(step);
}

struct Teller {
  std::string operator()(const ProcessCrashed& e) const { return who(e.process) + " crashed"; }
  std::string operator()(const ProcessLeft& e) const { return who(e.process) + " left"; }
  std::string operator()(const ProcessPaused& e) const { return who(e.process) + " paused"; }
  std::string operator()(const ProcessResumed& e) const { return who(e.process) + " resumed"; }
  std::string operator()(const NodeBroke& e) const { return who(e.process) + " BROKE: " + e.why; }
  std::string operator()(const Leased& e) const {
    return who(e.process) + " session " + to_hex(e.session) + " leased until " + seconds(e.until);
  }
  std::string operator()(const WorkerTakes& e) const {
    std::string all;
    for (const std::string& taken : e.takes) all += " " + taken;
    return who(e.process) + " " + e.worker + " takes" + (all.empty() ? " everything" : all);
  }
  std::string operator()(const HoldBegan& e) const {
    return who(e.process) + " begins " + e.key + " epoch " + text(e.epoch) + " ticket " + to_hex(e.ticket) +
           " session " + to_hex(e.session) + " given " + to_hex(e.given);
  }
  std::string operator()(const HoldEnded& e) const {
    return who(e.process) + " ends " + e.key + " epoch " + text(e.epoch);
  }
  std::string operator()(const Wrote& e) const {
    return who(e.process) + " writes " + e.key + " epoch " + text(e.epoch) + (e.accepted ? "" : " REFUSED");
  }
  std::string operator()(const Delivered& e) const {
    return who(e.process) + " gets message " + to_hex(e.ticket) + " for " + e.key + " epoch " + text(e.epoch) +
           (e.refused ? " and refuses it" : "");
  }
  std::string operator()(const Asked& e) const {
    return who(e.process) + " asks " + name(e.ask) + (e.type.empty() ? "" : ":" + e.type) + " " + e.key + " ticket " +
           to_hex(e.ticket) + (e.event != 0 ? " of " + e.source + " event " + text(e.event) : "") +
           (e.delayed ? " delayed" : "") + (e.of != 0 ? " of " + to_hex(e.of) : "");
  }
  std::string operator()(const Answered& e) const {
    return who(e.process) + " is told " + with_code(e.step, e.code) + " ticket " + to_hex(e.ticket);
  }
  std::string operator()(const TicketLost& e) const {
    return who(e.process) + " is told that nobody knows of ticket " + to_hex(e.ticket);
  }
  std::string operator()(const LogSettled& e) const {
    return "log " + text(e.position) + ": " + with_code(e.step, e.code) + " ticket " + to_hex(e.ticket);
  }
  std::string operator()(const LogGranted& e) const {
    return "log " + text(e.position) + ": granted " + e.key + " epoch " + text(e.epoch) + " ticket " +
           to_hex(e.ticket) + (e.first ? " first" : "") + " to " + e.worker + " of " + to_hex(e.session);
  }
  std::string operator()(const LogUnfit& e) const { return "log " + text(e.position) + ": unfit " + e.worker; }
  std::string operator()(const LogFit& e) const { return "log " + text(e.position) + ": fit, or gone: " + e.worker; }
  std::string operator()(const LogEnded& e) const {
    return "log " + text(e.position) + ": ended " + e.key + " epoch " + text(e.epoch);
  }
  std::string operator()(const HandlerCrashed& e) const {
    return who(e.process) + " is crashed by its handler of " + e.key + " epoch " + text(e.epoch);
  }
  std::string operator()(const LogCulprits& e) const {
    std::string line = "log " + text(e.position) + ": " + to_hex(e.session) + " was crashed by";
    for (const std::uint64_t epoch : e.epochs) line += " " + text(epoch);
    return line;
  }
  std::string operator()(const LogTimedOut& e) const {
    return "log " + text(e.position) + ": the start takes too long: " + e.key + " epoch " + text(e.epoch);
  }
  std::string operator()(const LogLeftWaiting& e) const {
    return "log " + text(e.position) + ": " + e.key + " waits, and " + e.helper + " has room";
  }
  std::string operator()(const LogFenced& e) const {
    return "log " + text(e.position) + ": session " + to_hex(e.session) + " is over before its time";
  }
  std::string operator()(const LogBuried& e) const {
    return "log " + text(e.position) + ": buried " + to_hex(e.ticket);
  }
  std::string operator()(const LogBlob& e) const {
    return "log " + text(e.position) + ": blob " + to_hex(e.value) + " for " + e.key + " epoch " + text(e.epoch);
  }
  std::string operator()(const LogLost& e) const {
    return "LOG LOST everything after " + text(e.kept) + (e.wiped ? " (wiped)" : "") + (e.removed ? " (removed)" : "");
  }
  std::string operator()(const LogShutdown& e) const { return "log " + text(e.position) + ": shutdown"; }
  std::string operator()(const LogJoined& e) const {
    return "log " + text(e.position) + ": joined " + to_hex(e.session) + (e.remembers ? ", which remembers" : "");
  }
  std::string operator()(const LogRestoring& e) const {
    return "log " + text(e.position) + ": restoring what was known up to " + text(e.known) +
           (e.ghost ? " (ghost)" : "");
  }
  std::string operator()(const LogRestored& e) const {
    return "log " + text(e.position) + ": restored " + e.key + " ticket " + to_hex(e.ticket) + (e.dead ? " dead" : "");
  }
  std::string operator()(const LogRestoreEnded& e) const { return "log " + text(e.position) + ": all restored"; }
  std::string operator()(const NoticedLoss& e) const {
    return who(e.process) + " session " + to_hex(e.session) + " notices that the log has lost";
  }
  std::string operator()(const LogEmitted& e) const {
    return "log " + text(e.position) + ": emitted " + e.source + " from " + text(e.before) + " to " + text(e.to) +
           " by " + e.key + " epoch " + text(e.epoch);
  }
  std::string operator()(const LogSourceRestored& e) const {
    return "log " + text(e.position) + ": restored source " + e.source + " at " + text(e.reached);
  }
  std::string operator()(const WorkerReady& e) const { return who(e.process) + " has worker " + e.worker; }
  std::string operator()(const Serves& e) const {
    return who(e.process) + " worker " + e.worker + (e.serves ? " serves " : " serves no more ") + e.key;
  }
  std::string operator()(const LogDrained& e) const { return "log " + text(e.position) + ": drained"; }
  std::string operator()(const LogRemoved& e) const { return e.ended ? "LOG REMOVED" : "LOG REMOVED under its pool"; }
  std::string operator()(const GhostSettled& e) const {
    return std::string("ghost: ") + name(e.step) + " ticket " + to_hex(e.ticket);
  }
  std::string operator()(const GhostGranted& e) const {
    return "ghost: granted " + e.key + " epoch " + text(e.epoch) + " ticket " + to_hex(e.ticket);
  }
  std::string operator()(const Digest& e) const {
    return who(e.process) + " digest " + to_hex(e.digest) + " after entry " + text(e.entry);
  }
  std::string operator()(const WorkerRanked& e) const {
    return who(e.process) + " worker " + e.worker + " has ordinal " + text(e.ordinal);
  }
  std::string operator()(const LogRing& e) const {
    return "log " + text(e.position) + ": " + text(e.ring.partitions) + " partitions with " + text(e.ring.secondaries) +
           " secondaries, settling " + std::to_string(e.ring.settle_ms) + " ms" + (e.ring.anyone ? ", or anyone" : "") +
           ", in " + text(e.ring.cuts) + " parts each";
  }
  std::string operator()(const LogRanked& e) const {
    return "log " + text(e.position) + ": ranked worker " + e.worker + (e.open ? " is open" : " is closed");
  }
  std::string operator()(const LogPartitionMoves& e) const {
    return "log " + text(e.position) + ": moves " + e.key + ", backlog " + text(e.backlog);
  }
  std::string operator()(const LogPartitionDead& e) const {
    return "log " + text(e.position) + ": quarantined " + e.key;
  }
  std::string operator()(const Healed&) const { return "ALL HEALED"; }
  std::string operator()(const Closed& e) const {
    return "the end: " + text(e.log_entries) + " entries, " + text(e.bytes_since_snapshot) +
           " bytes since the snapshot of " + text(e.snapshot_bytes);
  }
};

}  // namespace

void narrate(const Plan& plan, Recorder& recorder) {
  std::printf("seed %llu: %u nodes of %u workers, %u clients, lease %s, busy for %s, timeout %s, queue bound %u\n",
              static_cast<unsigned long long>(plan.seed), plan.nodes, plan.workers_per_node, plan.clients,
              seconds(plan.lease).c_str(), seconds(plan.busy).c_str(), seconds(plan.wires.timeout).c_str(),
              plan.queue_bound);
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (plan.every[i] == 0) continue;
    std::printf("  %s every %s\n", std::string(to_string(static_cast<Fault>(i))).c_str(),
                seconds(plan.every[i]).c_str());
  }
  std::printf(
      "  wires: lost %.3f, answer lost %.3f, held %.3f, duplicated %.3f, split %.2f, commit fails %.2f, load fails "
      "%.2f; answered meanwhile %.1f, looked every %u\n",
      plan.wires.request_lost, plan.wires.answer_lost, plan.wires.held, plan.wires.duplicated, plan.wires.split_reads,
      plan.wires.snapshot_commit_fails, plan.wires.snapshot_load_fails, plan.wires.answered_meanwhile, plan.look_every);
  recorder.on_event = [](Time at, const What& what) {
    std::printf("%14s  %s\n", seconds(at).c_str(), std::visit(Teller{}, what).c_str());
  };
  recorder.on_note = [](Time at, const std::string& note) {
    std::printf("%14s    (%s)\n", seconds(at).c_str(), note.c_str());
  };
}

}  // namespace tenure::sim
