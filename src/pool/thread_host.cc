#include "pool/thread_host.h"

#include <unistd.h>

#include <algorithm>

#include "base/assert.h"
#include "base/errand.h"
#include "base/output.h"
#include "machine/limits.h"

namespace tenure {
namespace {

// At most this many jobs are passed on together. So the first jobs of a large entry run while the rest is applied.
constexpr std::size_t kPortion = 256;

// A thread that is stuck in a handler may hold any lock, so this function takes none.
[[noreturn]] void end_process(const std::string& pool, const std::string& why) {
  warn_at_once("tenure: pool '" + pool + "': " + why + "; ending the process so that no key has two holders");
  ::_exit(kLeaseLostExit);
}

}  // namespace

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

void HostPart::attach(HoldReports& reports, ThreadLoop& loop) {
  reports_ = &reports;
  loop_ = &loop;
  loop.run([&] { long_ = std::make_unique<Timer>(loop); });
}

void HostPart::detach() {
  if (loop_ != nullptr) loop_->run([this] { long_.reset(); });
}

bool ThreadHost::add_handler(const std::string& worker, std::shared_ptr<Handler> handler) {
  std::lock_guard lock(mutex_);
  return handlers_.try_emplace(worker, std::move(handler)).second;
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
    end_process(options_.pool, "the handler of '" + key + "' did not return when the pool was closed");
  }
  for (HostPart& part : parts_) part.detach();
  std::lock_guard lock(door_->mutex);
  door_->host = nullptr;
}

void HostPart::start(HeldJob job) {
  started_.push_back(std::move(job));
  if (started_.size() >= kPortion) return hand_over();
  if (std::exchange(turn_posted_, true)) return;
  loop_->post([this] {
    turn_posted_ = false;
    hand_over();
  });
}

// All jobs of a portion take one lock and one wake-up. Busy threads come by themselves.
void HostPart::hand_over() {
  if (started_.empty()) return;
  std::vector<Hold> given_back;
  std::vector<LiveJobPtr> jobs;
  jobs.reserve(started_.size());
  std::shared_ptr<Handler> handler;
  const Bytes* worker = nullptr;  // the worker of the last handler found
  for (HeldJob& held : started_) {
    if (worker == nullptr || held.worker != *worker) handler = host_.handler_of(held.worker);
    if (!handler) {
      worker = nullptr;
      given_back.push_back(std::move(held.hold));
      continue;
    }
    jobs.push_back(std::make_shared<LiveJob>(std::move(held), handler, *reports_, host_.door_));
    worker = &jobs.back()->held.worker;
  }
  started_.clear();
  std::vector<LiveJobPtr> spent;  // freed without the lock
  {
    std::lock_guard lock(host_.mutex_);
    spent.swap(host_.spent_);
    for (LiveJobPtr& job : jobs) {
      if (host_.fenced_.contains(job->held.session)) {
        given_back.push_back(job->held.hold);
        continue;
      }
      job->queued = true;
      host_.live_[job->held.hold.epoch] = job;
      host_.queue_.push_back(std::move(job));
    }
    if (!host_.invite() || host_.queue_.size() > 1) host_.wake();
  }
  for (const Hold& hold : given_back) reports_->released(hold);
  if (long_ && !long_->armed()) long_->arm(loop_->now() + kStartedAfter, [this] { tell_long_tasks(); });
}

void HostPart::stop(const Hold& hold, StopReason reason, Instant /*deadline*/) {
  hand_over();
  LiveJobPtr job;
  bool begun = true;
  {
    std::lock_guard lock(host_.mutex_);
    const LiveJobPtr* found = host_.live_.find(hold.epoch);
    if (found == nullptr) return;
    job = *found;
    job->request_stop(reason);
    begun = job->phase != LiveJob::Phase::waiting;
    if (!begun) {
      host_.give_back(*job);
    } else if (job->held.kind == JobKind::resident) {
      job->stop_due = true;
      host_.enqueue(job);
    }
  }
  if (!begun) return reports_->released(hold);
  host_.trip_later(job);
}

void HostPart::message(const Hold& hold, std::uint64_t number, BytesView text) {
  hand_over();
  std::lock_guard lock(host_.mutex_);
  const LiveJobPtr* found = host_.live_.find(hold.epoch);
  if (found == nullptr) return;
  (*found)->messages.push_back({number, Bytes(text)});
  host_.enqueue(*found);
}

void HostPart::give_back_waiting(std::uint64_t session) {
  hand_over();
  std::vector<LiveJobPtr> waiting;
  {
    std::lock_guard lock(host_.mutex_);
    host_.live_.each([&](std::uint64_t, const LiveJobPtr& job) {
      if (job->held.session != session || job->phase != LiveJob::Phase::waiting) return;
      if (job->held.kind == JobKind::task) waiting.push_back(job);
    });
    for (const LiveJobPtr& job : waiting) host_.give_back(*job);
  }
  for (const LiveJobPtr& job : waiting) reports_->released(job->held.hold);
}

// Jobs that were not passed on yet are given back when they are.
void HostPart::fence(std::uint64_t session) {
  std::vector<LiveJobPtr> tripped;
  std::vector<LiveJobPtr> given_back;
  {
    std::lock_guard lock(host_.mutex_);
    if (!host_.fenced_.insert(session).second) return;
    host_.live_.each([&](std::uint64_t, const LiveJobPtr& job) {
      if (job->held.session != session) return;
      job->request_stop(std::nullopt);
      (job->phase == LiveJob::Phase::waiting ? given_back : tripped).push_back(job);
    });
    for (const LiveJobPtr& job : given_back) host_.give_back(*job);
    for (const LiveJobPtr& job : tripped) {
      if (job->held.kind != JobKind::resident) continue;
      job->stop_due = true;
      host_.enqueue(job);
    }
  }
  for (const LiveJobPtr& job : given_back) reports_->released(job->held.hold);
  for (const LiveJobPtr& job : tripped) host_.trip_later(job);
}

void HostPart::kill(std::uint64_t session) {
  std::string key;
  {
    std::lock_guard lock(host_.mutex_);
    const LiveJob* alive = nullptr;
    host_.live_.each([&](std::uint64_t, const LiveJobPtr& job) {
      if (job->held.session == session) alive = job.get();
    });
    if (alive == nullptr) return;
    key = alive->held.hold.key;
  }
  const std::string why = "the lease ran out and the handler of '" + key + "' had not stopped";
  if (host_.options_.on_lease_lost == OnLeaseLost::end_process) end_process(host_.options_.pool, why);
  host_.log(LogLevel::error, why + "; it continues, as the options say");
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

// Short tasks only report their end, because a record for each start would be a third of all records. A task that is
// found running in two looks in a row is reported as started.
void HostPart::tell_long_tasks() {
  std::vector<Hold> told;
  std::vector<const LiveJob*> running;
  bool busy = false;
  {
    std::lock_guard lock(host_.mutex_);
    for (const LiveJobPtr& job : host_.running_) {
      if (!job || &job->reports != reports_ || job->held.kind != JobKind::task) continue;
      busy = true;
      running.push_back(job.get());
      const bool seen = std::find(seen_running_.begin(), seen_running_.end(), job.get()) != seen_running_.end();
      if (seen && !std::exchange(job->started_told, true)) told.push_back(job->held.hold);
    }
    busy = busy || !host_.queue_.empty();
  }
  seen_running_ = std::move(running);
  for (const Hold& hold : told) reports_->started(hold);
  if (busy) long_->arm(loop_->now() + kStartedAfter, [this] { tell_long_tasks(); });
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
