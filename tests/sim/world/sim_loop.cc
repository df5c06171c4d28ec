#include "sim/world/sim_loop.h"

#include <algorithm>
#include <utility>

#include "sim/world/process.h"
#include "sim/world/sim_clock.h"

namespace tenure::sim {

SimLoop::SimLoop(World& world, Process& process, std::uint32_t number, std::string name, LoopSpeed speed)
    : world_(world),
      process_(process),
      name_(std::move(name)),
      speed_(speed),
      dice_(world.fork(process.name() + "/" + name_)),
      mark_(std::uint64_t{process.number()} << 8 | number) {}

Instant SimLoop::now() const { return process_.clock().now(); }

void SimLoop::post(std::function<void()> work) {
  if (!process_.alive()) return;
  posted_.push_back({world_.now() + dice_.tailed(speed_.wake_min, speed_.wake_max), std::move(work)});
  plan();
}

TimerId SimLoop::at(Instant when, std::function<void()> work) {
  const TimerId id = ++last_timer_;
  if (!process_.alive()) return id;
  timers_.push_back({when, id, std::move(work)});
  plan();
  return id;
}

void SimLoop::cancel(TimerId timer) {
  const auto found =
      std::find_if(timers_.begin(), timers_.end(), [&](const Armed& armed) { return armed.id == timer; });
  if (found == timers_.end()) return;
  const auto dropped = std::move(found->work);  // destroyed last: its destructor may come back here
  if (found != timers_.end() - 1) *found = std::move(timers_.back());
  timers_.pop_back();
}

void SimLoop::stall_until(Time until) { busy_until_ = std::max(busy_until_, until); }

void SimLoop::unstall() {
  busy_until_ = world_.now();
  plan();
}

std::size_t SimLoop::earliest() const {
  std::size_t best = 0;
  for (std::size_t i = 1; i < timers_.size(); ++i) {
    const bool before =
        timers_[i].when != timers_[best].when ? timers_[i].when < timers_[best].when : timers_[i].id < timers_[best].id;
    if (before) best = i;
  }
  return best;
}

// Makes sure that a wake is queued no later than the next work. One that comes too early only plans again, so that
// arming and cancelling a timer over and over leaves nothing in the world's queue.
void SimLoop::plan() {
  if (!process_.alive() || process_.paused()) return;
  Time next = kNever;
  if (has_posted()) next = posted_[head_].ready;
  if (!timers_.empty() && next > world_.now()) {
    const Instant when = timers_[earliest()].when;
    next = std::min(next, when <= now() ? world_.now() : process_.clock().true_time(when));
  }
  if (next == kNever) return;
  next = std::max({next, busy_until_, world_.now()});
  if (planned_ <= next) return;
  planned_ = next;
  world_.push(next, this, ++wakes_);
}

void SimLoop::wake(std::uint32_t number) {
  if (number != wakes_) return;
  planned_ = kNever;
  if (!process_.alive() || process_.paused()) return;
  if (world_.now() >= busy_until_) {
    const bool posted_ready = has_posted() && posted_[head_].ready <= world_.now();
    const bool timer_due = !timers_.empty() && timers_[earliest()].when <= now();
    if (posted_ready || timer_due) run_one(posted_ready, timer_due);
  }
  plan();
}

void SimLoop::run_one(bool posted_ready, bool timer_due) {
  const bool post_first = posted_ready && (!timer_due || dice_.chance(0.5));
  const std::function<void()> work = post_first ? take_posted() : take_timer(earliest());
  world_.trace(static_cast<std::uint64_t>(world_.now()) ^ mark_ << 48);
  busy_until_ = world_.now() + dice_.tailed(speed_.work_min, speed_.work_max);
  world_.running_ = &process_;
  work();
  world_.running_ = nullptr;
}

std::function<void()> SimLoop::take_posted() {
  std::function<void()> work = std::move(posted_[head_].work);
  ++head_;
  if (head_ == posted_.size()) {
    posted_.clear();
    head_ = 0;
  } else if (head_ >= 64 && head_ * 2 >= posted_.size()) {
    posted_.erase(posted_.begin(), posted_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  return work;
}

std::function<void()> SimLoop::take_timer(std::size_t index) {
  std::function<void()> work = std::move(timers_[index].work);
  if (index + 1 != timers_.size()) timers_[index] = std::move(timers_.back());
  timers_.pop_back();
  return work;
}

void SimLoop::drop_all() {
  // Taken out first: what is destroyed may cancel its timers here.
  const auto posted = std::exchange(posted_, {});
  const auto timers = std::exchange(timers_, {});
  head_ = 0;
}

}  // namespace tenure::sim
