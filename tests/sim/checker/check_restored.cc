// Promise s: a log that lost everything is put back, once, if a member lived through it, and not if the pool was
// removed. That what comes back is what was known is for the replay to say (log_replay.h).

#include <map>
#include <set>
#include <vector>

#include "sim/checker/verdict.h"

namespace tenure::sim {
namespace {

// What is known of the present log and its beginning.
struct Line {
  std::size_t number = 0;
  Time began = 0;
  bool wiped = false;          // what was before it is gone with the server's data
  bool removed = false;        // what was before it was removed on purpose
  bool anew = false;           // the first who joined remembered nothing: a new pool
  std::uint64_t joined = 0;    // where the first one did
  std::uint64_t restored = 0;  // where it was put back
  std::uint64_t ending = 0;    // where it was shut down
  bool has_pool() const { return (anew || restored != 0) && ending == 0; }

  // Of a log that lost its tail, the beginning may be left.
  void lose(const LogLost& lost, Time at) {
    const bool whole = lost.wiped || lost.removed || lost.replaced;
    if (whole || joined > lost.kept) *this = {.number = number + (whole ? 1 : 0), .removed = !whole && removed};
    if (restored > lost.kept) restored = 0;
    if (ending > lost.kept) ending = 0;
    began = at;
    wiped = lost.wiped;
    removed = removed || lost.removed;
  }
};

class Restorations {
 public:
  Restorations(const PastHolds& holds, const Expectations& expected, Verdict& verdict)
      : holds_(holds), expected_(expected), verdict_(verdict) {}

  void apply(const Event& event) {
    now_ = event.at;
    std::visit([this](const auto& what) { on(what); }, event.what);
  }

 private:
  void on(const LogLost& lost) {
    losses_.push_back({lost, line_.ending});
    had_pool_[line_.number] = line_.has_pool();
    line_.lose(lost, now_);
    survivors_.clear();
  }
  // A process remembers a pool if it noticed the loss of its log within its lease. What was in a log that was lost
  // before the pool was back in it is worth remembering as well, but this does not know if a process had read it.
  void on(const NoticedLoss& noticed) {
    const auto of = sessions_.find(noticed.session);
    if (of != sessions_.end() && of->second == line_.number) return;
    if (!holds_.lease_valid(noticed.session, now_)) {
      remember_.erase(noticed.process);
    } else if (of != sessions_.end() && had_pool_[of->second]) {
      remember_.insert(noticed.process);
    }
    if (remember_.contains(noticed.process)) survivors_.insert(noticed.process);
  }
  void on(const ProcessCrashed& crashed) { forget(crashed.process); }
  void on(const ProcessLeft& left) { forget(left.process); }
  void on(const LogJoined& joined) {
    if (line_.joined == 0) line_.anew = !joined.remembers;
    if (line_.joined == 0) line_.joined = joined.position;
    sessions_[joined.session] = line_.number;
  }
  void on(const LogShutdown& began) { line_.ending = began.position; }
  void on(const LogRestoring& restoring) {
    if (line_.removed || was_ended(restoring)) broken("a pool that was shut down is put back");
    if (line_.restored != 0) broken("a log that was restored is restored again");
    if (line_.anew) broken("what is remembered is put into a log that a new pool has begun");
  }
  void on(const LogRestoreEnded& ended) {
    line_.restored = ended.position;
    remember_.clear();
  }
  void on(const Closed&) {
    if (!line_.wiped || line_.has_pool() || survivors_.empty()) return;
    if (now_ - line_.began <= expected_.recovery) return;
    broken("the log was wiped at " + seconds(line_.began) + ", and process " + std::to_string(*survivors_.begin()) +
           ", which remembers it, has not put it back");
  }
  template <class T>
  void on(const T&) {}

  void forget(ProcessNumber process) {
    remember_.erase(process);
    survivors_.erase(process);
  }
  // What became of the log of which so much is remembered: losses of a tail behind it do not matter.
  bool was_ended(const LogRestoring& restoring) const {
    std::size_t loss = restoring.losses;
    const auto spared = [&](const LogLost& lost) {
      return !lost.wiped && !lost.removed && !lost.replaced && lost.kept >= restoring.known;
    };
    while (loss < losses_.size() && spared(losses_[loss].how)) ++loss;
    if (loss == losses_.size()) return false;
    const Loss& last = losses_[loss];
    return last.how.removed || (last.ending != 0 && last.ending <= restoring.known);
  }
  void broken(const std::string& text) { verdict_.broken('s', now_, text); }

  const PastHolds& holds_;
  const Expectations& expected_;
  Verdict& verdict_;
  Time now_ = 0;
  Line line_;
  struct Loss {
    LogLost how;
    std::uint64_t ending;  // where the log that was lost had been shut down; zero if it had not
  };
  std::vector<Loss> losses_;
  std::map<std::size_t, bool> had_pool_;           // by the line's number
  std::map<std::uint64_t, std::size_t> sessions_;  // in which line they joined
  std::set<ProcessNumber> remember_;               // a pool whose log was lost
  std::set<ProcessNumber> survivors_;              // of these: they have noticed the last loss
};

}  // namespace

void check_restored(const History& history, const PastHolds& holds, const Expectations& expected, Verdict& verdict) {
  Restorations restorations(holds, expected, verdict);
  for (const Event& event : history) restorations.apply(event);
}

}  // namespace tenure::sim
