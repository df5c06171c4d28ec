// Promises x and y: no job is quarantined but for its own deed, and one that goes on crashing its process is.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/checker/verdict.h"

namespace tenure::sim {
namespace {

// What the log says of the deaths of a job's holders. A retry of the job begins anew. A job that is put back into a new
// log brings what the old one said.
struct Record {
  std::uint32_t named = 0;    // by evidence in the log
  std::uint32_t crashes = 0;  // of these, the handler did crash its process
  std::uint32_t lonely = 0;   // deaths without evidence, in which nothing else was held
  bool vague = false;         // the old log went on unseen: there may have been more
};

class BlameFold {
 public:
  BlameFold(const std::set<std::uint64_t>& deeds, std::uint32_t limit, const RememberedLines& remembered,
            Verdict& verdict)
      : deeds_(deeds), limit_(limit), remembered_(remembered), verdict_(verdict) {}

  void apply(const Event& event) {
    now_ = event.at;
    if (std::holds_alternative<LogRestoring>(event.what)) return remember(event);
    std::visit([this](const auto& what) { on(what); }, event.what);
  }

 private:
  struct Tenure {
    std::uint64_t ticket;
    std::uint64_t session;
  };

  void remember(const Event& restoring) {
    Verdict ignored;  // of the old log: it has been judged
    BlameFold old(deeds_, limit_, remembered_, ignored);
    for (const Event* event : remembered_.at(&restoring)) old.apply(*event);
    old_records_ = std::move(old.records_);
    of_ghost_ = std::get<LogRestoring>(restoring.what).ghost;
  }

  void on(const LogRestored& restored) {
    Record& record = records_[restored.ticket] = old_records_[restored.ticket];
    record.vague = record.vague || of_ghost_;
  }

  void on(const LogGranted& granted) {
    tenures_[granted.epoch] = {granted.ticket, granted.session};
    held_[granted.session].insert(granted.epoch);
    const Record& record = records_[granted.ticket];
    if (limit_ == 0 || record.named < limit_ || is_partition(granted.key)) return;
    verdict_.broken(
        'y', now_,
        granted.key + " is granted again after it has crashed its process " + std::to_string(record.named) + " times");
  }

  void on(const LogCulprits& culprits) {
    named_at_ = culprits.position;
    named_ = culprits.epochs;
  }

  // All tenures of a session end at one position.
  void on(const LogEnded& ended) {
    const auto found = tenures_.find(ended.epoch);
    if (found == tenures_.end()) return;
    const auto [ticket, session] = found->second;
    if (counted_at_ != ended.position || counted_session_ != session) {
      counted_at_ = ended.position;
      counted_session_ = session;
      company_ = held_[session].size();
    }
    held_[session].erase(ended.epoch);
    if (!ended.died) return;
    Record& record = records_[ticket];
    const bool named = named_at_ == ended.position && std::count(named_.begin(), named_.end(), ended.epoch) != 0;
    if (named) {
      ++record.named;
      record.crashes += deeds_.contains(ended.epoch) ? 1 : 0;
    } else if (company_ == 1) {
      ++record.lonely;
    }
  }

  void on(const LogBuried& buried) {
    const Record record = std::exchange(records_[buried.ticket], {});
    if (!buried.quarantined || record.vague || (limit_ != 0 && std::max(record.crashes, record.lonely) >= limit_))
      return;
    verdict_.broken('x', now_,
                    "quarantined, though it has crashed its process " + std::to_string(record.crashes) +
                        " times and was alone in " + std::to_string(record.lonely) + " deaths: ticket " +
                        std::to_string(buried.ticket));
  }

  template <class T>
  void on(const T&) {}

  const std::set<std::uint64_t>& deeds_;
  const std::uint32_t limit_;
  const RememberedLines& remembered_;
  Verdict& verdict_;
  Time now_ = 0;
  std::map<std::uint64_t, Tenure> tenures_;                // by epoch
  std::map<std::uint64_t, std::set<std::uint64_t>> held_;  // session -> epochs
  std::map<std::uint64_t, Record> records_;                // by ticket
  std::map<std::uint64_t, Record> old_records_;            // of the log that is put back
  bool of_ghost_ = false;
  std::uint64_t named_at_ = 0;
  std::vector<std::uint64_t> named_;
  std::uint64_t counted_at_ = 0;
  std::uint64_t counted_session_ = 0;
  std::size_t company_ = 0;
};

}  // namespace

void check_blame(const History& history, const Expectations& expected, Verdict& verdict) {
  std::set<std::uint64_t> deeds;
  for (const Event& event : history) {
    if (const auto* crashed = std::get_if<HandlerCrashed>(&event.what)) deeds.insert(crashed->epoch);
  }
  for (const LogLine& line : log_lines(history)) {
    BlameFold fold(deeds, expected.quarantine_after, *line.remembered, verdict);
    for (const Event* event : line.events) fold.apply(*event);
  }
}

}  // namespace tenure::sim
