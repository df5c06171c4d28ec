#include "feeder/pump.h"

#include <pthread.h>

#include <algorithm>
#include <future>
#include <utility>

#include "feeder/coordinator.h"

namespace tenure::feeder {
namespace {

using std::chrono::milliseconds;

constexpr Nanos kSleepMost = milliseconds(500);
constexpr Nanos kAtOnce = milliseconds(1);
constexpr Nanos kSpinPause = milliseconds(2);
// An answer of the pool wakes the source too, so that one wake for nothing means little.
constexpr int kIdleWakesMax = 4;
// Each look asks the source for the end of one partition, in turn.
constexpr Nanos kLookAtEndEvery = milliseconds(100);
constexpr Nanos kEndOfEachEvery = std::chrono::seconds(1);
constexpr std::size_t kFeedBytesMin = 64U << 10;

}  // namespace

Pump::Pump(Spec spec, std::unique_ptr<source::Source> source, Outside& outside)
    : spec_(std::move(spec)), source_(std::move(source)), outside_(outside) {
  inbox_->source = source_.get();
  outside_.room().add_waiter(this, [inbox = inbox_] { post(*inbox, 0, [] {}); });
  thread_ = std::thread([this] { run(); });
}

Pump::~Pump() { end(); }

void Pump::end() {
  if (!thread_.joinable()) return;
  outside_.room().remove_waiter(this);
  {
    const std::lock_guard lock(inbox_->mutex);
    inbox_->ending = true;
    source_->wake();
    inbox_->filled.notify_all();
  }
  thread_.join();
  {
    const std::lock_guard lock(inbox_->mutex);
    inbox_->source = nullptr;
  }
  work_off();  // a thread may be waiting in remove()
  duties_.clear();
}

bool Pump::post(Inbox& inbox, std::uint64_t epoch, std::function<void()> what) {
  const std::lock_guard lock(inbox.mutex);
  if (inbox.source == nullptr) return false;
  inbox.posted.emplace_back(epoch, std::move(what));
  if (inbox.posted.size() > 1) return true;  // it is woken already
  inbox.source->wake();
  inbox.filled.notify_all();
  return true;
}

void Pump::add(Hold hold, Bytes partition, std::optional<Bytes> checkpoint) {
  const std::uint64_t epoch = hold.epoch;
  post(*inbox_, 0,
       [this, hold = std::move(hold), epoch, partition = std::move(partition),
        checkpoint = std::move(checkpoint)]() mutable {
         Post to = [inbox = inbox_, epoch](std::function<void()> what) { post(*inbox, epoch, std::move(what)); };
         std::unique_ptr<Duty>& duty = duties_[epoch];
         if (partition.empty()) {
           duty = std::make_unique<Coordinator>(spec_, std::move(hold), *source_, outside_, std::move(to));
           return;
         }
         FeedParts parts{
             .spec = spec_, .source = *source_, .outside = outside_, .post = std::move(to), .bytes_max = [this] {
               return std::max(kPumpBytesMax / (2 * duties_.size() + 1), kFeedBytesMin);
             }};
         duty = std::make_unique<Feed>(std::move(parts), std::move(partition), std::move(hold), checkpoint);
       });
}

std::optional<Bytes> Pump::remove(std::uint64_t epoch) {
  const auto removed = std::make_shared<std::promise<std::optional<Bytes>>>();
  std::future<std::optional<Bytes>> checkpoint = removed->get_future();
  const bool posted = post(*inbox_, 0, [this, epoch, removed] {
    const auto found = duties_.find(epoch);
    std::optional<Bytes> left;
    if (found != duties_.end()) {
      left = found->second->stop();
      duties_.erase(found);
    }
    removed->set_value(std::move(left));
  });
  return posted ? checkpoint.get() : std::nullopt;
}

void Pump::run() {
  pthread_setname_np(pthread_self(), "tenure-feed");
  for (;;) {
    {
      const std::lock_guard lock(inbox_->mutex);
      if (inbox_->ending) break;
    }
    bool worked = work_off();
    const Instant now = clock_.now();
    worked = step_all(now) || worked;
    look_at_an_end(now);
    if (worked) {
      idle_wakes_ = 0;
    } else {
      sleep(now);
    }
  }
  for (auto& [epoch, duty] : duties_) duty->stop();
  duties_.clear();
}

bool Pump::work_off() {
  std::deque<std::pair<std::uint64_t, std::function<void()>>> posted;
  {
    const std::lock_guard lock(inbox_->mutex);
    posted.swap(inbox_->posted);
  }
  for (auto& [epoch, what] : posted) {
    if (epoch == 0 || duties_.contains(epoch)) what();
  }
  return !posted.empty();
}

// Each turn starts with another feed. Otherwise the first one would get all the room of a nearly full queue.
bool Pump::step_all(Instant now) {
  if (duties_.empty()) return false;
  bool worked = false;
  auto first = duties_.upper_bound(first_);
  if (first == duties_.end()) first = duties_.begin();
  first_ = first->first;
  for (auto at = first; at != duties_.end(); ++at) worked = at->second->step(now) || worked;
  for (auto at = duties_.begin(); at != first; ++at) worked = at->second->step(now) || worked;
  return worked;
}

void Pump::look_at_an_end(Instant now) {
  if (now < look_at_ || duties_.empty()) return;
  auto next = duties_.upper_bound(looked_at_);
  if (next == duties_.end()) next = duties_.begin();
  looked_at_ = next->first;
  next->second->look_at_end(now);
  const auto share = kEndOfEachEvery / static_cast<std::int64_t>(duties_.size());
  look_at_ = clock_.now() + std::max<Nanos>(kLookAtEndEvery, share);
}

void Pump::sleep(Instant now) {
  Instant until = now + kSleepMost;
  bool hungry = false;
  for (const auto& [epoch, duty] : duties_) {
    until = std::min(until, duty->due());
    hungry = hungry || duty->hungry();
  }
  const bool spins = hungry && idle_wakes_ >= kIdleWakesMax;
  if (!hungry || spins) {
    if (spins) --idle_wakes_;
    return wait_here(spins ? std::min(until, now + kSpinPause) : until);
  }
  source_->wait(until);
  const Instant woken = clock_.now();
  idle_wakes_ = woken - now < kAtOnce && woken < until ? idle_wakes_ + 1 : 0;
}

void Pump::wait_here(Instant until) {
  std::unique_lock lock(inbox_->mutex);
  const Nanos left = until - clock_.now();
  if (left > Nanos(0))
    inbox_->filled.wait_for(lock, left, [this] { return !inbox_->posted.empty() || inbox_->ending; });
}

}  // namespace tenure::feeder
