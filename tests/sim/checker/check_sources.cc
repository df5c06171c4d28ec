// Promise E: every task of a source's events is accepted exactly once, in order, and none is missing below the position
// that the log has; events that were lost count once; and only the present tenure emits.

#include <map>
#include <set>
#include <vector>

#include "base/shard.h"
#include "sim/checker/log_replay.h"
#include "sim/checker/sequence.h"

namespace tenure::sim {
namespace {

struct SourceLine {
  std::uint64_t position = 0;
  std::uint64_t epoch = 0;
};

class SourceReplay {
 public:
  SourceReplay(const AskedBy& asked, const Expectations& expected, Verdict& verdict, const LogLine& line)
      : asked_(asked), expected_(expected), verdict_(verdict), line_(line) {}

  void apply(const Event& event) {
    now_ = event.at;
    if (std::holds_alternative<LogRestoring>(event.what)) return remember(event);
    std::visit([this](const auto& what) { on(what); }, event.what);
  }

 private:
  void broken(const std::string& text) { verdict_.broken('E', now_, text); }

  void on(const LogSettled& settled) {
    const auto found = asked_.find(settled.ticket);
    if (settled.step != Step::accepted || found == asked_.end() || found->second.event == 0) return;
    fresh_.push_back(&found->second);
  }

  void on(const LogGranted& granted) { epochs_[granted.key] = granted.epoch; }
  void on(const LogEnded& ended) { epochs_[ended.key] = 0; }

  void on(const LogEmitted& emitted) {
    SourceLine& source = sources_[emitted.source];
    const std::string what =
        emitted.source + " up to " + std::to_string(emitted.to) + ", epoch " + std::to_string(emitted.epoch);
    if (emitted.before != source.position) {
      broken("does not go on from " + std::to_string(source.position) + ": " + what);
    }
    if (emitted.to <= emitted.before) broken("is no further: " + what);
    if (emitted.epoch < source.epoch) broken("of an older epoch: " + what);
    const bool alone = expected_.shard.count == 1;  // otherwise the tenure may be of another shard
    if (alone && epochs_[emitted.key] != emitted.epoch) broken("of a tenure that is over: " + what);
    check_tasks(emitted, what);
    check_losses(emitted, what);
    source = {emitted.to, emitted.epoch};
    fresh_.clear();
  }

  void check_tasks(const LogEmitted& emitted, const std::string& what) {
    const std::string name = source_of_part(emitted.source);
    std::vector<SequenceTask> due;
    for (std::uint64_t event = emitted.before + 1; event <= emitted.to; ++event) {
      for (SequenceTask& task : tasks_of_event(name, event)) {
        if (task.part == part_in(emitted.source)) due.push_back(std::move(task));
      }
    }
    bool same = due.size() == fresh_.size();
    for (std::size_t i = 0; same && i < due.size(); ++i) {
      same = fresh_[i]->source == name && fresh_[i]->event == due[i].event && fresh_[i]->index == due[i].index;
    }
    if (same) return;
    broken("brought " + std::to_string(fresh_.size()) + " tasks, and not the " + std::to_string(due.size()) +
           " that its events have: " + what);
  }

  // Every event that was lost counts once, in the shard of the key.
  void check_losses(const LogEmitted& emitted, const std::string& what) {
    const std::string name = source_of_part(emitted.source);
    const bool home = shard_of(emitted.key, expected_.shard.count) == expected_.shard.index;
    std::uint64_t lost = 0;
    for (std::uint64_t event = emitted.before + 1; event <= emitted.to; ++event) lost += is_lost_event(name, event);
    if (!home || part_in(emitted.source) != part_of_losses(name)) lost = 0;
    if (emitted.lost == lost) return;
    broken("counted " + std::to_string(emitted.lost) + " lost events, and not " + std::to_string(lost) + ": " + what);
  }

  void remember(const Event& restoring) {
    ghost_ = std::get<LogRestoring>(restoring.what).ghost;
    Verdict ignored;
    SourceReplay old(asked_, expected_, ignored, line_);
    for (const Event* event : line_.remembered->at(&restoring)) old.apply(*event);
    remembered_ = std::move(old.sources_);
  }

  void on(const LogSourceRestored& restored) {
    const auto known = remembered_.find(restored.source);
    // A source may have been asked for only.
    const std::uint64_t was = known == remembered_.end() ? 0 : known->second.position;
    if (!ghost_ && was != restored.reached) {
      broken("restored with a position that was not known: " + restored.source);
    }
    sources_[restored.source].position = restored.reached;
  }

  void on(const LogRestoreEnded&) {
    for (const auto& [name, source] : remembered_) {
      if (!ghost_ && sources_[name].position < source.position) broken("a position was not restored: " + name);
    }
    remembered_.clear();
  }

  template <class T>
  void on(const T&) {}

  const AskedBy& asked_;
  const Expectations& expected_;
  Verdict& verdict_;
  const LogLine& line_;
  std::map<std::string, SourceLine> sources_;
  std::map<std::string, SourceLine> remembered_;
  std::map<std::string, std::uint64_t> epochs_;  // of the present tenures, by key
  std::vector<const Asked*> fresh_;              // accepted since the last emit
  bool ghost_ = false;
  Time now_ = 0;
};

}  // namespace

void check_sources(const History& history, const Expectations& expected, Verdict& verdict) {
  const AskedBy asked = asked_by_ticket(history);
  for (const LogLine& line : log_lines(history)) {
    SourceReplay replay(asked, expected, verdict, line);
    for (const Event* event : line.events) replay.apply(*event);
  }
}

}  // namespace tenure::sim
