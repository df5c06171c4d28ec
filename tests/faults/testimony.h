#pragma once

// Converts a log into lines of a history for the judge (judge.cc). The times of entries are the engine's, converted to
// the handlers' clock (CLOCK_BOOTTIME). The offset is the smallest with which any entry was read.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "log/log.h"
#include "machine/machine.h"

namespace tenure::faults {

// Keeps every entry, so that it can go back to where a log has lost its tail. Belongs to one thread at a time.
class Testimony final : private Effects {
 public:
  // The entry that follows the position `before`, as it was read at `now`, with its time on a clock that keeps pace
  // with CLOCK_BOOTTIME. One that is known already says nothing. One that differs from what is known at its position
  // shows that the log has lost that, and all that followed; so does one that comes where others are known to have been
  // before it.
  void take(Position before, const Entry& entry, std::int64_t engine_ns, Instant now);
  // Everything after the position is no longer in the log.
  void lose_after(Position kept);

  Cursor last() const;
  bool knows(const Cursor& cursor) const;
  void write(const std::string& path) const;

 private:
  struct Line {
    const char* what;
    std::int64_t at_ns;
    std::string more;
    std::int64_t until_ns = 0;
  };

  template <class... Words>
  void say(const char* what, const Words&... words);
  void lease(std::uint64_t session, std::int64_t until_ns);
  void apply(const Entry& entry, std::int64_t engine_ns);
  void note_dispatches(const Entry& entry);

  void granted(const At&, const Grant& grant) override;
  void ended(const At&, const TenureRef& tenure, TenureEnd why) override;
  void settled(const At&, const Settlement& settlement) override;
  void restoring(const At&, const Restored& it) override;
  void restored(const At&, const Restored&) override { say("log.restore_ended", position_); }
  void job_restored(const At&, BytesView key, std::uint64_t ticket, bool dead) override {
    if (own_.contains(ticket)) return;
    say("log.restored", position_, Bytes(key), ticket, dead ? 1 : 0);
  }
  void buried(const At&, BytesView key, std::uint64_t dead_id, bool quarantined) override;
  void joined(const At&, std::uint64_t session) override { heard_.push_back(session); }
  void beat_seen(const At&, const SeenBeat& beat) override;
  void session_ended(const At&, std::uint64_t session, SessionEnd how) override;

  std::unique_ptr<Machine> machine_ = std::make_unique<Machine>();
  std::map<Position, Entry> entries_;
  std::map<std::pair<std::uint64_t, Position>, std::size_t> losses_at_;  // by an entry's log and position
  std::size_t losses_ = 0;
  std::vector<Line> lines_;
  std::vector<std::uint64_t> heard_;  // in the entry that is being applied
  std::int64_t offset_ns_ = INT64_MAX;
  Position position_ = 0;
  std::int64_t time_ns_ = 0;
  std::uint64_t failed_last_ = 0;
  // Tickets of what the library does for itself: its own residents and their emits. They run no handler of the test, so
  // nothing is said of them.
  std::set<std::uint64_t> own_;
  bool mute_ = false;  // while it goes through what it has said before
};

}  // namespace tenure::faults
