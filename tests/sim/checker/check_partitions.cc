// Promise P: partitions are where they belong, and those of two numbers are never held together.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/checker/verdict.h"

namespace tenure::sim {

namespace {

std::uint32_t number_of(const std::string& key) {
  return static_cast<std::uint32_t>(std::stoul(key.substr(key.find('/') + 1)));
}

// What the log says about the ranked workers, and who holds what.
class Ranking {
 public:
  explicit Ranking(Verdict& verdict) : verdict_(verdict) {}

  void apply(const Event& event) {
    now_ = event.at;
    std::visit([this](const auto& what) { on(what); }, event.what);
  }

 private:
  void on(const WorkerRanked& ranked) { ordinals_[ranked.worker] = ranked.ordinal; }
  void on(const LogRing& set) {
    judge_step();
    ring_ = set.ring;
  }
  void on(const LogRanked& ranked) {
    if (ranked.position != position_) judge_step();
    position_ = ranked.position;
    // Where it was closed before, its partitions had other targets already.
    const bool was_open = open_.erase(ranked.worker) != 0;
    if (!ranked.open && !was_open) orphans_.clear();
    if (!ranked.open) closing_.insert(ranked.worker);
    if (!ranked.open) return;
    open_.insert(ranked.worker);
    orphans_.clear();  // whether it could have had them is not known
  }
  // What is in the log after a loss is not written down again.
  void on(const LogLost&) {
    ring_ = {};
    known_ = false;
    holders_.clear();
    orphans_.clear();
    closing_.clear();
    moving_.clear();
  }
  void on(const LogPartitionMoves& moves) {
    if (moves.position != position_) judge_step();
    position_ = moves.position;
    moving_.insert(moves.key);
    // Less than half of the bound ends a loan.
    const auto holder = holders_.find(moves.key);
    const bool low = ring_.surge != 0 && moves.backlog < ring_.surge / 2;
    if (low && known_ && holder != holders_.end() && rank(moves.key, holder->second) == Rank::primary) {
      leaving_.emplace_back(moves.key, holder->second);
    }
  }
  void on(const LogShutdown&) { known_ = false; }
  void on(const LogEnded& ended) {
    if (!is_partition(ended.key)) return;
    if (ended.position != position_ || granted_ != 0) judge_step();
    position_ = ended.position;
    // To whom it was to go, it counted for.
    if (moving_.erase(ended.key) != 0) orphans_.clear();
    const auto holder = holders_.find(ended.key);
    if (holder != holders_.end() && ended.how == HowEnded::lost) orphans_.emplace_back(ended.key, holder->second);
    if (holder != holders_.end()) holders_.erase(holder);
  }
  void on(const LogGranted& granted) {
    if (!is_partition(granted.key)) return;
    if (granted.position != position_) judge_step();
    position_ = granted.position;
    ++granted_;
    holders_[granted.key] = granted.worker;
    if (ring_.partitions == 0) return;
    const auto ordinal = ordinals_.find(granted.worker);
    const bool may = ordinal != ordinals_.end() && rank(granted.key, granted.worker) != Rank::none;
    if (!may) broken(granted.key + " is granted to " + granted.worker + ", which may not hold it");
  }
  template <class T>
  void on(const T&) {}

  // The partitions of a worker that is gone were placed one after another. None went to a worker that had more than
  // another one of the same rank could have had.
  void judge_step() {
    judge_loans();
    const auto orphans = std::exchange(orphans_, {});
    const std::set<std::string> closing = std::exchange(closing_, {});
    const std::size_t granted = std::exchange(granted_, 0);
    if (!known_ || ring_.partitions == 0) return;
    std::map<std::string, std::string> before = holders_;
    for (const auto& [key, from] : orphans) {
      if (!holders_.contains(key)) return;  // where it is to go, and what follows from it, is not known
      before[key] = from;
    }
    if (granted != orphans.size() || !moving_.empty() || moves(before, closing)) return;
    std::set<std::string> unplaced;
    for (const auto& [key, from] : orphans) unplaced.insert(key);
    for (const auto& [key, from] : orphans) {
      const std::string& holder = holders_.at(key);
      unplaced.erase(key);
      const Rank now = rank(key, holder);
      if (now == Rank::primary || !open_.contains(holder)) continue;
      const std::size_t had = load(holder, key, unplaced, false);
      for (const std::string& other : open_) {
        if (other == holder || rank(key, other) > now || load(other, key, unplaced, true) >= had) continue;
        broken(key + " went to " + holder + ", which had " + std::to_string(had) + " partitions, and not to " + other +
               ", which had fewer");
      }
    }
  }

  // A part leaves a primary that goes on only while its partition is behind.
  void judge_loans() {
    for (const auto& [key, primary] : std::exchange(leaving_, {})) {
      if (open_.contains(primary)) broken(key + " left its primary " + primary + ", and its partition is not behind");
    }
  }

  // Some partition was, or may have been, on its way to another worker when the record came: its load is not known.
  bool moves(const std::map<std::string, std::string>& before, const std::set<std::string>& closing) {
    std::set<std::string> open = open_;
    open.insert(closing.begin(), closing.end());
    return std::any_of(before.begin(), before.end(), [&](const auto& held) {
      return !open.contains(held.second) || std::any_of(open.begin(), open.end(), [&](const std::string& other) {
        return other != held.second && rank(held.first, other) < rank(held.first, held.second);
      });
    });
  }

  // `most`: with those that nobody holds, and that may wait for it.
  std::size_t load(const std::string& worker, const std::string& but_for, const std::set<std::string>& unplaced,
                   bool most) {
    std::size_t count = 0;
    for (std::uint32_t number = 0; number < ring_.parts(); ++number) {
      const std::string key = "partition/" + std::to_string(number);
      if (key == but_for || unplaced.contains(key)) continue;
      const auto holder = holders_.find(key);
      if (holder != holders_.end()) {
        count += holder->second == worker ? 1 : 0;
      } else {
        count += most && rank(key, worker) != Rank::none ? 1 : 0;
      }
    }
    return count;
  }

  Rank rank(const std::string& key, const std::string& worker) {
    const auto found = ordinals_.find(worker);
    return found == ordinals_.end() ? Rank::none : rank_of(ring_, number_of(key), found->second);
  }
  void broken(const std::string& text) { verdict_.broken('P', now_, text); }

  Verdict& verdict_;
  Time now_ = 0;
  Ring ring_;
  bool known_ = true;
  std::map<std::string, std::uint32_t> ordinals_;
  std::set<std::string> open_;
  std::map<std::string, std::string> holders_;
  std::uint64_t position_ = 0;
  // Of the present record, of which there may be several at a position.
  std::vector<std::pair<std::string, std::string>> orphans_;  // and who had them, in their order
  std::set<std::string> closing_;
  std::set<std::string> moving_;
  std::vector<std::pair<std::string, std::string>> leaving_;  // parts, and their primaries
  std::size_t granted_ = 0;
};

// The span in which somebody acted under the tenure.
struct Acted {
  Span span;
  std::uint32_t of;
  const PastHold* hold;
};

void check_numbers(const History& history, const PastHolds& holds, const Expectations& expected, Verdict& verdict) {
  std::map<std::pair<std::string, std::uint64_t>, std::uint32_t> numbers;
  for (const Event& event : history) {
    const auto* began = std::get_if<HoldBegan>(&event.what);
    if (began != nullptr && began->of != 0) numbers[{began->key, began->epoch}] = began->of;
  }
  std::vector<Acted> all;
  for (const PastHold& hold : holds.all) {
    const auto of = numbers.find({hold.key, hold.epoch});
    if (of == numbers.end()) continue;
    for (const Span& lease : holds.lease(hold.session)) {
      const Span span{std::max(lease.from, hold.began), std::min(lease.until, hold.ended)};
      if (span.from < span.until) all.push_back({span, of->second, &hold});
    }
  }
  std::sort(all.begin(), all.end(), [](const Acted& a, const Acted& b) { return a.span.from < b.span.from; });
  std::map<std::uint32_t, const Acted*> longest;  // by number
  for (const Acted& acted : all) {
    for (const auto& [of, last] : longest) {
      if (of == acted.of || last->span.until <= acted.span.from) continue;
      if (holds.lost_within(acted.span.from, expected.lease)) continue;
      verdict.broken('P', acted.span.from,
                     acted.hold->name() + " of " + std::to_string(acted.of) + " is held together with " +
                         last->hold->name() + " of " + std::to_string(of));
    }
    const Acted*& last = longest[acted.of];
    if (last == nullptr || last->span.until < acted.span.until) last = &acted;
  }
}

// Every partition has one holder, its primary if that is there.
void check_last(const History& history, const PastHolds& holds, const Expectations& expected, Verdict& verdict) {
  std::map<std::pair<std::string, std::uint64_t>, std::string> workers;
  std::map<std::string, std::uint32_t> ordinals;
  std::map<std::string, ProcessNumber> ready;
  std::set<std::string> dead;
  Time changed = 0;
  Time closed = kForever;
  const auto gone = [&](ProcessNumber process, Time at) {
    std::erase_if(ready, [&](const auto& worker) { return worker.second == process; });
    changed = at;
  };
  for (const Event& event : history) {
    const Time at = event.at;
    if (const auto* began = std::get_if<HoldBegan>(&event.what)) workers[{began->key, began->epoch}] = began->worker;
    if (const auto* ranked = std::get_if<WorkerRanked>(&event.what)) ordinals[ranked->worker] = ranked->ordinal;
    if (const auto* crashed = std::get_if<ProcessCrashed>(&event.what)) gone(crashed->process, at);
    if (const auto* left = std::get_if<ProcessLeft>(&event.what)) gone(left->process, at);
    if (const auto* buried = std::get_if<LogPartitionDead>(&event.what)) dead.insert(buried->key);
    if (std::holds_alternative<Closed>(event.what)) closed = at;
    const bool changes = std::holds_alternative<Healed>(event.what) || std::holds_alternative<LogRing>(event.what) ||
                         std::holds_alternative<LogLost>(event.what) || std::holds_alternative<LogShutdown>(event.what);
    if (changes) changed = at;
    const auto* added = std::get_if<WorkerReady>(&event.what);
    if (added == nullptr) continue;
    ready[added->worker] = added->process;
    changed = at;
  }
  if (closed == kForever || changed + expected.ranking > closed) return;
  for (std::uint32_t number = 0; number < expected.ring.parts(); ++number) {
    const std::string key = "partition/" + std::to_string(number);
    if (dead.contains(key)) continue;
    std::vector<std::string> held_by;
    const auto found = holds.by_key.find(key);
    for (const std::size_t index : found == holds.by_key.end() ? std::vector<std::size_t>() : found->second) {
      const PastHold& hold = holds.all[index];
      if (hold.began > closed || hold.ended <= closed || !holds.lease_valid(hold.session, closed)) continue;
      held_by.push_back(workers[{hold.key, hold.epoch}]);
    }
    const auto primary = std::find_if(ready.begin(), ready.end(), [&](const auto& worker) {
      const auto ordinal = ordinals.find(worker.first);
      return ordinal != ordinals.end() && ordinal->second == partition_of_part(expected.ring, number);
    });
    if (held_by.size() != 1) {
      verdict.broken('P', closed, key + " is held by " + std::to_string(held_by.size()) + " in the end");
    } else if (primary != ready.end() && held_by[0] != primary->first) {
      verdict.broken('P', closed, key + " is held by " + held_by[0] + ", and its primary is there");
    }
  }
}

}  // namespace

void check_partitions(const History& history, const PastHolds& holds, const Expectations& expected, Verdict& verdict) {
  Ranking ranking(verdict);
  for (const Event& event : history) ranking.apply(event);
  check_numbers(history, holds, expected, verdict);
  check_last(history, holds, expected, verdict);
}

}  // namespace tenure::sim
