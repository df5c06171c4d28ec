// Follows the log of a pool from its first entry, and writes down what it says, for the judge to compare with what the
// handlers did. Ends when its input does.
//
//   faults_witness ENGINE POOL HISTORY
//
// Lines: log.dispatch, log.leased, log.granted, log.ended, log.settled, log.buried, log.fenced; see judge.cc. An
// entry's time is the engine's, on the handlers' clock (CLOCK_BOOTTIME): the offset between the two is the smallest
// that any entry was read with.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "log/open.h"
#include "machine/machine.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

// An engine's time is in whole milliseconds, and the quickest reader is a little late.
constexpr std::int64_t kEarlyNs = 2'000'000;

class Witness final : private Effects {
 public:
  void take(const Entry& entry, Instant now) {
    const std::int64_t engine_ns = entry.time_ms * 1'000'000;
    offset_ns_ = std::min(offset_ns_, now.since_boot.count() - engine_ns);
    position_ = entry.position;
    time_ns_ = engine_ns;
    note_dispatches(entry);
    heard_.clear();
    machine_.apply({entry.position, entry.time_ms, entry.data}, *this);
    for (const std::uint64_t session : heard_) {
      if (const Session* found = machine_.roster().session(session); found != nullptr) {
        lease(session, engine_ns + found->lease_ms * 1'000'000LL);
      }
    }
  }

  void write(const std::string& path) const {
    std::ofstream file(path, std::ios::app);
    for (const Line& line : lines_) {
      file << line.what << ' ' << line.at_ns + offset_ns_ - kEarlyNs << ' ' << line.more;
      if (line.until_ns != 0) file << ' ' << line.until_ns + offset_ns_ + kEarlyNs;
      file << '\n';
    }
  }

 private:
  struct Line {
    const char* what;
    std::int64_t at_ns;
    std::string more;
    std::int64_t until_ns = 0;
  };

  template <class... Words>
  void say(const char* what, const Words&... words) {
    std::string more;
    const auto add = [&](const auto& word) {
      if (!more.empty()) more += ' ';
      if constexpr (std::is_arithmetic_v<std::decay_t<decltype(word)>>) {
        more += std::to_string(word);
      } else {
        more += word;
      }
    };
    (add(words), ...);
    lines_.push_back({what, time_ns_, std::move(more)});
  }

  void lease(std::uint64_t session, std::int64_t until_ns) {
    lines_.push_back({"log.leased", time_ns_, std::to_string(session), until_ns});
  }

  // What was asked under which ticket stands in the records; the machine does not repeat it.
  void note_dispatches(const Entry& entry) {
    v1::Batch batch;
    if (!batch.ParseFromString(entry.data)) return;
    for (const v1::Record& record : batch.records()) {
      if (!record.has_dispatch()) continue;
      const v1::Dispatch& dispatch = record.dispatch();
      say("log.dispatch", dispatch.ticket(), dispatch.key(), dispatch.payload());
    }
  }

  void granted(const Grant& grant) override {
    say("log.granted", position_, grant.tenure.session, Bytes(grant.tenure.key), grant.tenure.epoch, grant.ticket,
        grant.first ? 1 : 0);
  }
  void ended(const TenureRef& tenure, TenureEnd /*why*/) override {
    say("log.ended", position_, Bytes(tenure.key), tenure.epoch);
  }
  void settled(const Settlement& settlement) override {
    static constexpr std::array<const char*, 6> kSteps{"accepted", "refused", "started", "done", "failed", "stopped"};
    static_assert(static_cast<int>(TicketState::accepted) == 0 && static_cast<int>(TicketState::stopped) == 5);
    if (settlement.state == TicketState::failed) failed_last_ = settlement.ticket;
    say("log.settled", position_, settlement.ticket, kSteps[static_cast<std::size_t>(settlement.state)],
        static_cast<int>(settlement.code));
  }
  // The job's ticket was told of its failure just before.
  void buried(BytesView /*key*/, std::uint64_t /*dead_id*/, bool /*quarantined*/) override {
    say("log.buried", position_, failed_last_);
  }
  void joined(std::uint64_t session) override { heard_.push_back(session); }
  void beaten(std::uint64_t session, std::uint64_t /*number*/, std::uint64_t /*digest_position*/,
              std::uint64_t /*digest*/) override {
    heard_.push_back(session);
  }
  void session_ended(std::uint64_t session, SessionEnd how) override {
    std::erase(heard_, session);
    lease(session, time_ns_);
    if (how != SessionEnd::left) say("log.fenced", position_, session);
  }

  Machine machine_;
  std::vector<Line> lines_;
  std::vector<std::uint64_t> heard_;  // in the entry that is being applied
  std::int64_t offset_ns_ = INT64_MAX;
  Position position_ = 0;
  std::int64_t time_ns_ = 0;
  std::uint64_t failed_last_ = 0;
};

// Reads on and on, until the log is closed or cannot be followed.
class Follower {
 public:
  explicit Follower(Log& log) : log_(log) { read({}); }

  // What was seen, or why it is not the whole log.
  Result<const Witness*> result() {
    const std::lock_guard lock(mutex_);
    if (failure_) return Failure(*failure_);
    return &witness_;
  }

 private:
  void read(Cursor after) {
    log_.read(after, [this, after](Result<std::vector<Entry>> entries) {
      const Instant now = BootClock().now();
      if (!entries && entries.error().code == Errc::unavailable) return read(after);
      const std::lock_guard lock(mutex_);
      if (!entries) {
        failure_ = entries.error();
        return;
      }
      for (const Entry& entry : *entries) witness_.take(entry, now);
      read(Cursor::at(entries->back()));
    });
  }

  Log& log_;
  std::mutex mutex_;  // everything below
  Witness witness_;
  std::optional<Error> failure_;
};

int run(const char* engine, const char* pool, const char* history) {
  const Result<std::unique_ptr<Log>> log = open_log(engine, {.pool = pool, .read_only = false});
  if (!log) {
    std::fprintf(stderr, "%s\n", log.error().message().c_str());
    return 1;
  }
  Follower follower(**log);
  std::puts("following");
  std::fflush(stdout);
  for (char byte = 0; ::read(STDIN_FILENO, &byte, 1) > 0;) {
  }
  (*log)->close();
  const Result<const Witness*> witness = follower.result();
  if (!witness) {
    std::fprintf(stderr, "the log could not be followed: %s\n", witness.error().message().c_str());
    return 1;
  }
  (*witness)->write(history);
  return 0;
}

}  // namespace
}  // namespace tenure

int main(int count, char** words) { return count == 4 ? tenure::run(words[1], words[2], words[3]) : 64; }
