// Promises t and H: a worker is given only jobs that it takes; no task waits while a worker that helps has room for it.

#include <algorithm>
#include <map>

#include "sim/checker/verdict.h"

namespace tenure::sim {

namespace {

using Taken = std::vector<std::string>;

bool takes(const Taken& taken, const std::string& kind, const std::string& type) {
  // Types of the library itself have to be named.
  if (type.starts_with('.')) return std::find(taken.begin(), taken.end(), kind + ":" + type) != taken.end();
  return taken.empty() || std::find(taken.begin(), taken.end(), kind) != taken.end() ||
         std::find(taken.begin(), taken.end(), kind + ":" + type) != taken.end();
}

std::string to_text(const Taken& taken) {
  std::string text;
  for (const std::string& one : taken) text += (text.empty() ? "" : ", ") + one;
  return text;
}

}  // namespace

void check_helped(const History& history, Verdict& verdict) {
  for (const Event& event : history) {
    const auto* waits = std::get_if<LogLeftWaiting>(&event.what);
    if (waits == nullptr) continue;
    verdict.broken('H', event.at, "the task of " + waits->key + " waits while " + waits->helper + " has room for it");
  }
}

void check_takes(const History& history, Verdict& verdict) {
  std::map<std::pair<ProcessNumber, std::string>, Taken> taken;
  std::map<std::uint64_t, ProcessNumber> processes;  // by session
  std::map<std::uint64_t, const Asked*> asked;       // by ticket
  std::map<std::uint64_t, bool> typed;               // by ticket: whether the pool knew types when it took the job
  for (const Event& event : history) {
    if (const auto* worker = std::get_if<WorkerTakes>(&event.what)) {
      taken[{worker->process, worker->worker}] = worker->takes;
    } else if (const auto* leased = std::get_if<Leased>(&event.what)) {
      processes[leased->session] = leased->process;
    } else if (const auto* request = std::get_if<Asked>(&event.what)) {
      asked[request->ticket] = request;
    } else if (const auto* settled = std::get_if<LogSettled>(&event.what)) {
      if (settled->step == Step::accepted) typed[settled->ticket] = settled->typed;
    }
    const auto* grant = std::get_if<LogGranted>(&event.what);
    if (grant == nullptr) continue;
    const auto process = processes.find(grant->session);
    const auto job = asked.find(grant->ticket);
    if (process == processes.end() || job == asked.end()) continue;
    const auto worker = taken.find({process->second, grant->worker});
    if (worker == taken.end()) continue;
    const std::string kind = job->second->ask == Ask::task ? "task" : "resident";
    const bool untyped_too = !typed[grant->ticket];
    if (takes(worker->second, kind, job->second->type) || (untyped_too && takes(worker->second, kind, ""))) continue;
    verdict.broken('t', event.at,
                   "worker " + grant->worker + ", which takes " + to_text(worker->second) + ", was given the " + kind +
                       " of " + grant->key + " of type '" + job->second->type + "'");
  }
}

}  // namespace tenure::sim
