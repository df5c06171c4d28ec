#pragma once

// A log that loses entries, and a host that does nothing, for tests of one node.

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "node/keys/host.h"
#include "node/manual_world.h"

namespace tenure {

// Keeps entries in memory, answers at once, and can lose its tail.
class LosingLog final : public Log {
 public:
  explicit LosingLog(const Loop& loop) : loop_(loop) {}

  Position end() const { return entries_.size(); }
  void lose_after(Position kept) {
    entries_.resize(kept);
    lost_ = true;
    if (waiting_) std::exchange(waiting_, nullptr)(fail(Errc::lost_history, "read", "the tail is gone"));
  }

  // As if another process removed the log right after the entry was appended, and before anybody has read it.
  void remove_after(std::function<bool(BytesView)> entry) { removes_after_ = std::move(entry); }
  bool removed() const { return removed_; }
  int made_again() const { return made_again_; }

  void append(Lane /*lane*/, Bytes data, AppendDone done) override {
    if (lost_) return done(fail(Errc::lost_history, "append", "the tail is gone"));
    const bool removes = removes_after_ && removes_after_(data);
    entries_.push_back({end() + 1, to_ms(loop_.now().since_boot), std::move(data)});
    done(end());
    if (!removes) return hand_over();
    removed_ = true;
    lose_after(0);
  }
  void read(Cursor after, ReadDone done) override {
    if (lost_) return done(fail(Errc::lost_history, "read", "the tail is gone"));
    after_ = after.position;
    waiting_ = std::move(done);
    hand_over();
  }
  void load_snapshot(IfGone if_gone, LoadDone done) override {
    if (removed_ && if_gone == IfGone::report) return done(fail(Errc::no_such_pool, "load", "the log is gone"));
    made_again_ += std::exchange(removed_, false) ? 1 : 0;
    lost_ = false;
    done(Snapshot{});
  }
  std::unique_ptr<SnapshotWriter> begin_snapshot(Cursor /*at*/) override { return nullptr; }
  void trim(Position /*before*/, std::function<void(Status)> /*done*/) override {}
  void remove(std::function<void(Status)> /*done*/) override {}
  void close() override {}

 private:
  void hand_over() {
    if (!waiting_ || after_ >= end()) return;
    std::exchange(waiting_,
                  nullptr)(std::vector<Entry>(entries_.begin() + static_cast<std::ptrdiff_t>(after_), entries_.end()));
  }

  const Loop& loop_;
  std::vector<Entry> entries_;
  Position after_ = 0;
  ReadDone waiting_;
  bool lost_ = false;
  std::function<bool(BytesView)> removes_after_;
  bool removed_ = false;
  int made_again_ = 0;
};

class IdleHost final : public Host {
 public:
  void start(HeldJob /*job*/) override {}
  void stop(const Hold& /*hold*/, StopReason /*reason*/, Instant /*deadline*/) override {}
  void message(const Hold& /*hold*/, std::uint64_t /*number*/, BytesView /*text*/) override {}
  void fence(std::uint64_t /*session*/) override {}
  void kill(std::uint64_t /*session*/) override {}
};

}  // namespace tenure
