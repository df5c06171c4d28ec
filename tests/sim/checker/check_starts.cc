// Promise v: a worker that cannot start anything gets no keys but for a try now and then, and is fit again once it can.

#include <map>
#include <string>

#include "sim/checker/verdict.h"

namespace tenure::sim {
namespace {

// Tries are a second apart by the log's time, which may be set back a little when a server fails over.
constexpr Time kTriesApart = 400 * kMilli;
// Once all programs are good, the first try should do; a job that ends meanwhile may spoil one or two.
constexpr int kTriesMax = 3;

struct Tried {
  Time last = 0;
  std::uint64_t epoch = 0;  // of the last try
  int since_healed = 0;
};

Time healed_at(const History& history) {
  for (const Event& event : history) {
    if (std::holds_alternative<Healed>(event.what)) return event.at;
  }
  return kForever;
}

}  // namespace

void check_unfit(const History& history, Verdict& verdict) {
  const Time healed = healed_at(history);
  for (const LogLine& line : log_lines(history)) {
    std::map<std::string, Tried> tried;  // unfit workers
    for (const Event* event : line.events) {
      if (const auto* unfit = std::get_if<LogUnfit>(&event->what)) tried[unfit->worker] = {event->at, 0, 0};
      if (const auto* fit = std::get_if<LogFit>(&event->what)) tried.erase(fit->worker);
      // The pool was impatient, and so nothing is known of the worker.
      if (const auto* timed_out = std::get_if<LogTimedOut>(&event->what)) {
        for (auto& [id, worker] : tried) {
          if (worker.epoch == timed_out->epoch && worker.since_healed > 0) --worker.since_healed;
        }
      }
      const auto* granted = std::get_if<LogGranted>(&event->what);
      if (granted == nullptr) continue;
      const auto found = tried.find(granted->worker);
      if (found == tried.end()) continue;
      Tried& worker = found->second;
      if (event->at - worker.last < kTriesApart) {
        verdict.broken('v', event->at, granted->worker + " is unfit and got " + granted->key + " too soon");
      }
      worker.last = event->at;
      worker.epoch = granted->epoch;
      if (event->at > healed && ++worker.since_healed > kTriesMax) {
        verdict.broken('v', event->at, granted->worker + " stays unfit though it starts what it gets");
      }
    }
  }
}

}  // namespace tenure::sim
