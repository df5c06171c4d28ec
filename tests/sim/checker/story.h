#pragma once

// Handmade histories, to test the checker.

#include <algorithm>
#include <string>

#include "sim/checker/checker.h"

namespace tenure::sim {

// Times are in seconds. One call is one event, at the time last given to at().
class Story {
 public:
  Story& at(double when) {
    now_ = static_cast<Time>(when * 1e9);
    return *this;
  }
  Story& add(What what) {
    history_.push_back({now_, std::move(what)});
    return *this;
  }

  Story& lease(ProcessNumber process, double until) {
    return add(Leased{process, session(process), static_cast<Time>(until * 1e9)});
  }
  Story& asks(std::uint64_t ticket, Ask ask, const std::string& key, bool delayed = false, std::uint64_t of = 0,
              double delay = 0) {
    return add(Asked{99, ticket, ask, key, delayed, of, {}, static_cast<Time>(delay * 1e9)});
  }
  Story& told(std::uint64_t ticket, Step step, Errc code = {}) { return add(Answered{99, ticket, step, code}); }
  Story& log(std::uint64_t ticket, Step step, Errc code = {}) {
    return add(LogSettled{++position_, ticket, step, code});
  }
  Story& grant(const std::string& key, std::uint64_t epoch, std::uint64_t ticket, bool first = true) {
    return add(LogGranted{++position_, key, epoch, ticket, first});
  }
  Story& grant_to(ProcessNumber process, const std::string& worker, const std::string& key, std::uint64_t epoch,
                  std::uint64_t ticket) {
    return add(LogGranted{++position_, key, epoch, ticket, true, session(process), worker});
  }
  Story& takes(ProcessNumber process, const std::string& worker, std::vector<std::string> taken) {
    return add(WorkerTakes{process, worker, std::move(taken)});
  }
  Story& asks_typed(std::uint64_t ticket, Ask ask, const std::string& key, const std::string& type) {
    return add(Asked{99, ticket, ask, key, false, 0, type});
  }
  Story& ungrant(const std::string& key, std::uint64_t epoch, HowEnded how = HowEnded::handoff) {
    return add(LogEnded{++position_, key, epoch, how});
  }
  Story& time_out(const std::string& key, std::uint64_t epoch) { return add(LogTimedOut{++position_, key, epoch}); }
  Story& bury(std::uint64_t ticket) { return add(LogBuried{++position_, ticket}); }
  Story& blob(const std::string& key, std::uint64_t epoch, std::uint64_t value, std::uint64_t sequence) {
    return add(LogBlob{++position_, 7, sequence, key, epoch, value});
  }
  Story& lose(std::uint64_t entries) {
    position_ -= entries;
    return add(LogLost{position_});
  }
  Story& begin(ProcessNumber process, const std::string& key, std::uint64_t epoch, std::uint64_t ticket,
               std::uint64_t given = 0) {
    return add(HoldBegan{process, session(process), key, epoch, ticket, given});
  }
  Story& end(ProcessNumber process, const std::string& key, std::uint64_t epoch) {
    return add(HoldEnded{process, key, epoch});
  }
  Story& write(ProcessNumber process, const std::string& key, std::uint64_t epoch, bool accepted) {
    return add(Wrote{process, key, epoch, accepted});
  }
  Story& deliver(ProcessNumber process, const std::string& key, std::uint64_t epoch, std::uint64_t ticket,
                 bool refused = false) {
    return add(Delivered{process, key, epoch, ticket, refused});
  }
  Story& close() { return add(Closed{10, 1000, 1000}); }

  // A resident job, accepted and granted, with ticket and epoch of one's choice.
  Story& resident(const std::string& key, std::uint64_t ticket, std::uint64_t epoch) {
    return asks(ticket, Ask::resident, key).log(ticket, Step::accepted).grant(key, epoch, ticket);
  }

  // The letters of the broken promises, in order, each once: "" if all is well.
  // Most of these stories are not told to the end, so that nobody is expected to have heard it.
  std::string verdict(Expectations expected = {}, bool all_answered = false) const {
    expected.all_answered = all_answered;
    std::string letters;
    for (const Violation& violation : check(history_, expected)) {
      if (letters.find(violation.promise) == std::string::npos) letters += violation.promise;
    }
    std::sort(letters.begin(), letters.end());
    return letters;
  }

  static std::uint64_t session(ProcessNumber process) { return 1000 + process; }

 private:
  Time now_ = 0;
  std::uint64_t position_ = 0;
  History history_;
};

}  // namespace tenure::sim
