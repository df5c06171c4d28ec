#include "sim/checker/holds.h"

#include <algorithm>
#include <cstdio>

namespace tenure::sim {

namespace {

// The latest word on a lease counts, so a span ends where the next word is spoken or where it ran out.
void add_lease(std::vector<Span>& spans, Time at, Time until) {
  if (!spans.empty() && spans.back().until >= at) {
    spans.back().until = until;
  } else if (until > at) {
    spans.push_back({at, until});
  }
}

}  // namespace

std::string seconds(Time at) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6f s", static_cast<double>(at) / 1e9);
  return text;
}

std::string PastHold::name() const {
  return key + " epoch " + std::to_string(epoch) + " (process " + std::to_string(process) + ", from " + seconds(began) +
         (ended == kForever ? " on" : " to " + seconds(ended)) + ")";
}

PastHolds::PastHolds(const History& history) {
  std::map<std::pair<std::string, std::uint64_t>, std::vector<std::size_t>> open;
  for (const Event& event : history) {
    last = std::max(last, event.at);
    if (const auto* leased = std::get_if<Leased>(&event.what)) {
      add_lease(leases_[leased->session], event.at, leased->until);
    } else if (const auto* began = std::get_if<HoldBegan>(&event.what)) {
      open[{began->key, began->epoch}].push_back(all.size());
      by_key[began->key].push_back(all.size());
      all.push_back({began->process, began->session, began->key, began->epoch, began->ticket, began->given, event.at});
    } else if (const auto* ended = std::get_if<HoldEnded>(&event.what)) {
      for (const std::size_t index : open[{ended->key, ended->epoch}]) {
        if (all[index].process == ended->process && all[index].ended == kForever) {
          all[index].ended = event.at;
          break;
        }
      }
    } else if (const auto* paused = std::get_if<ProcessPaused>(&event.what)) {
      pauses[paused->process].push_back({event.at, kForever});
    } else if (const auto* resumed = std::get_if<ProcessResumed>(&event.what)) {
      auto& spans = pauses[resumed->process];
      if (!spans.empty()) spans.back().until = event.at;
    } else if (std::holds_alternative<LogLost>(event.what)) {
      losses.push_back(event.at);
      const auto& lost = std::get<LogLost>(event.what);
      // Of a log that is gone with its server, too, a reader may have entries that it has not looked at yet.
      if (lost.replaced || lost.wiped) replacements.push_back(event.at);
    } else if (const auto* crashed = std::get_if<ProcessCrashed>(&event.what)) {
      crashes[crashed->process] = event.at;
      for (PastHold& hold : all) {
        if (hold.process != crashed->process || hold.ended != kForever) continue;
        hold.ended = event.at;
        hold.crashed = true;
      }
    }
  }
}

const std::vector<Span>& PastHolds::lease(std::uint64_t session) const {
  static const std::vector<Span> kNone;
  const auto found = leases_.find(session);
  return found == leases_.end() ? kNone : found->second;
}

namespace {

bool within(const std::vector<Time>& times, Time at, Time span) {
  return std::any_of(times.begin(), times.end(), [&](Time time) { return time <= at && at - time <= span; });
}

}  // namespace

bool PastHolds::lost_within(Time at, Time span) const { return within(losses, at, span); }
bool PastHolds::replaced_within(Time at, Time span) const { return within(replacements, at, span); }

bool PastHolds::lease_valid(std::uint64_t session, Time at) const {
  const auto& spans = lease(session);
  return std::any_of(spans.begin(), spans.end(), [&](const Span& span) { return span.contains(at); });
}

}  // namespace tenure::sim
