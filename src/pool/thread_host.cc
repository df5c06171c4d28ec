#include "pool/thread_host.h"

#include <unistd.h>

#include <algorithm>

#include "base/assert.h"
#include "base/errand.h"
#include "base/output.h"
#include "machine/limits.h"
#include "pool/pool_guard.h"

namespace tenure {

thread_local const ThreadHost* ThreadHost::executing_ = nullptr;

ThreadHost::ThreadHost(ThreadHostOptions options)
    : options_(std::move(options)), door_(std::make_shared<HostDoor>()), trips_("tenure-trips") {
  door_->host = this;
}

ThreadHost::~ThreadHost() {
  std::lock_guard lock(door_->mutex);
  door_->host = nullptr;
  ASSERT(threads_.empty());
}

HostPart& ThreadHost::part(std::size_t shard) {
  while (parts_.size() <= shard) parts_.emplace_back(*this);
  return parts_[shard];
}

void ThreadHost::set_guard(PoolGuard& guard, bool note_crashes) {
  std::lock_guard lock(guard_mutex_);
  guard_ = &guard;
  for (const auto& [session, until] : leases_) guard.lease_until(session, until);
  if (note_crashes) door_->note = &guard.note();
}

// Jobs count as owners of a count that lies beside nothing else: the executor's threads read the handler all the time.
bool ThreadHost::add_handler(const std::string& worker, std::shared_ptr<Handler> handler) {
  struct alignas(64) Kept {
    std::shared_ptr<Handler> handler;
  };
  const auto kept = std::make_shared<Kept>(Kept{std::move(handler)});
  std::lock_guard lock(mutex_);
  return handlers_.try_emplace(worker, std::shared_ptr<Handler>(kept, kept->handler.get())).second;
}

void ThreadHost::remove_handler(const std::string& worker) {
  std::shared_ptr<Handler> handler;  // destroyed without the lock
  std::lock_guard lock(mutex_);
  const auto found = handlers_.find(worker);
  if (found == handlers_.end()) return;
  handler = std::move(found->second);
  handlers_.erase(found);
}

std::shared_ptr<Handler> ThreadHost::handler_of(const Bytes& worker) {
  std::lock_guard lock(mutex_);
  const auto found = handlers_.find(worker);
  return found == handlers_.end() ? nullptr : found->second;
}

bool ThreadHost::on_executor() const { return executing_ == this; }

bool ThreadHost::shut(std::chrono::steady_clock::time_point deadline) {
  std::vector<std::thread> threads;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
    helper_wake_.notify_all();
    const auto quiet = [this] {
      return queue_.empty() && stops_.empty() && guests_ == 0 &&
             std::all_of(running_.begin(), running_.end(), [](const LiveJobPtr& job) { return job == nullptr; });
    };
    if (!quiet_.wait_until(lock, deadline, quiet)) return false;
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
  for (HostPart& part : parts_) part.detach();
  trips_.run([] {});
  std::lock_guard lock(door_->mutex);
  door_->host = nullptr;
  return true;
}

// A thread that is stuck in a handler may hold any lock, so this takes none.
void ThreadHost::end_process(const std::string& why) const {
  warn_at_once("tenure: pool '" + options_.pool + "': " + why + "; ending the process so that no key has two holders");
  ::_exit(kLeaseLostExit);
}

void ThreadHost::abandon() {
  std::string key;
  {
    std::lock_guard lock(mutex_);
    abandoned_ = true;
    for (const LiveJobPtr& job : running_) {
      if (job) key = job->held.hold.key;
    }
    for (std::thread& thread : threads_) thread.detach();
    threads_.clear();
  }
  if (options_.on_lease_lost == OnLeaseLost::end_process) {
    end_process("the handler of '" + key + "' did not return when the pool was closed");
  }
  for (HostPart& part : parts_) part.detach();
  std::lock_guard lock(door_->mutex);
  door_->host = nullptr;
}

// With the lock held: a job that was not begun.
void ThreadHost::give_back(LiveJob& job) {
  job.phase = LiveJob::Phase::ended;
  live_.erase(job.held.hold.epoch);
}

// With the lock held.
void ThreadHost::enqueue(const LiveJobPtr& job) {
  const Step step = next_step(*job);
  if (step == Step::none) return;
  if (job->queued) {
    // It may already wait there for a message to be handled, behind others. A stop does not wait.
    if (step != Step::stop || std::erase(queue_, job) == 0) return;
  }
  job->queued = true;
  if (step == Step::stop) {
    stops_.push_back(job);
    return wake_for_stop();
  }
  queue_.push_back(job);
  wake();
}

// With the lock held. Wakes one more thread, if there is work for it, or if a lookout is needed.
void ThreadHost::wake() {
  if (queue_.empty() || !has_room() || (alone_ && lookout_ != Lookout::none)) return;
  if (idle_ == 0 && (stopping_ || executors_ >= options_.concurrency)) return;
  if (alone_) lookout_ = Lookout::called;
  if (idle_ > 0) return wake_.notify_one();
  ++executors_;
  running_.emplace_back();
  threads_.emplace_back([this, slot = running_.size() - 1] { serve(slot); });
}

// With the lock held. The calling thread will run the first job after it has left its own loop to another thread.
bool ThreadHost::invite() {
  Errands* const errands = Errands::here();
  if (errands == nullptr || queue_.empty() || stopping_ || working_ + guests_ >= options_.concurrency) return false;
  if (!errands->take([this] { serve_as_guest(); })) return false;
  ++guests_;
  return true;
}

// With the lock held.
void ThreadHost::wake_for_stop() {
  if (idle_ > 0) return wake_.notify_one();
  if (helpers_idle_ > 0) return helper_wake_.notify_one();
  if (stopping_ || threads_.size() - executors_ >= options_.concurrency) return;
  running_.emplace_back();
  threads_.emplace_back([this, slot = running_.size() - 1] { help(slot); });
}

void ThreadHost::trip_later(const LiveJobPtr& job) {
  if (!job->has_token()) return;  // a token that is requested later is created tripped
  trips_.post([job] { job->trip(); });
}

void ThreadHost::set_emitters(EmitterMaker make) {
  const std::lock_guard lock(door_->mutex);
  door_->emitters = std::move(make);
}

Status ThreadHost::checkpoint(const LiveJob& job, std::string bytes) {
  if (bytes.size() > kBlobBytesMax) {
    return fail(Errc::invalid, "checkpoint",
                "it has " + std::to_string(bytes.size()) + " bytes; the limit is " + std::to_string(kBlobBytesMax));
  }
  job.reports.checkpoint(job.held.hold, std::move(bytes));
  return {};
}

}  // namespace tenure
