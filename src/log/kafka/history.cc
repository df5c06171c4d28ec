#include "log/kafka/history.h"

namespace tenure::kafka {
namespace {

// Beats in flight, and beats whose answer was lost and that did not come back.
constexpr std::size_t kUnprovenMax = 1U << 16;

}  // namespace

void History::see(Mark mark) {
  const std::lock_guard lock(mutex_);
  if (mark.offset > candidate_.offset) candidate_ = mark;
}

Status History::prove() {
  Mark anchor;
  Mark next;
  {
    const std::lock_guard lock(mutex_);
    anchor = anchor_;
    next = candidate_;
  }
  if (lost()) return loss();
  if (Status held = look_at(anchor); !held) return held;
  const std::lock_guard lock(mutex_);
  if (next.offset > anchor_.offset) anchor_ = next;
  return {};
}

Status History::prove(Mark mark) { return lost() ? Status(loss()) : look_at(mark); }

Status History::look_at(Mark mark) {
  const auto found = prober_.record_at(topic_, 0, mark.offset);
  Status held;
  if (!found) {
    held = Failure(found.error());
  } else if (!*found) {
    held = judge_missing(mark);
  } else if (!(*found)->key || (*found)->key->log != log_ || (*found)->key->link != mark.link) {
    held = fail(Errc::lost_history, "kafka log", shown_ + ": another record stands where this handle's log had one");
  }
  if (!held && held.error().code == Errc::lost_history) lose(held.error());
  return held;
}

// The record was trimmed, or the log ends before it. What remains of a trimmed log begins with an entry of it.
Status History::judge_missing(Mark mark) {
  const auto range = prober_.range(topic_, 0);
  if (!range) return Failure(range.error());
  if (mark.offset < range->first && range->first < range->end) {
    const auto first = prober_.record_at(topic_, 0, range->first);
    if (!first) return Failure(first.error());
    if (*first && (*first)->key && (*first)->key->log == log_) {
      see({(*first)->offset, (*first)->key->link});
      return {};
    }
  }
  return fail(Errc::lost_history, "kafka log", shown_ + ": a record that this handle knows is gone");
}

void History::lose(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (lost_) return;
    loss_ = {Errc::lost_history, error.operation, error.context};
    lost_.store(true, std::memory_order_release);
  }
  on_lost_(error);
}

Failure History::loss() const {
  const std::lock_guard lock(mutex_);
  return Failure(loss_);
}

bool History::sent_beat(std::uint64_t link) {
  const std::lock_guard lock(mutex_);
  return unproven_.size() < kUnprovenMax && unproven_.insert(link).second;
}

bool History::is_unproven(std::uint64_t link) const {
  const std::lock_guard lock(mutex_);
  return unproven_.contains(link);
}

void History::forget_beat(std::uint64_t link) {
  const std::lock_guard lock(mutex_);
  unproven_.erase(link);
}

}  // namespace tenure::kafka
