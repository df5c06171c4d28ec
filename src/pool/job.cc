#include <condition_variable>
#include <mutex>
#include <optional>
#include <tenure/job.hpp>

#include "pool/live_job.h"
#include "pool/thread_host.h"

namespace tenure {
namespace {

// Waits for the answer of an emitter.
class AwaitedEmit {
 public:
  void put(Result<std::uint64_t> result) {
    const std::lock_guard lock(mutex_);
    result_ = std::move(result);
    came_.notify_all();
  }
  Result<std::uint64_t> wait(std::chrono::nanoseconds timeout) {
    std::unique_lock lock(mutex_);
    if (came_.wait_for(lock, timeout, [this] { return result_.has_value(); })) return *result_;
    return fail(Errc::timed_out, "emit", "no answer in time; it may still be taken in");
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::optional<Result<std::uint64_t>> result_;  // guarded by mutex_
};

Result<std::shared_ptr<Emitter>> emitter_of(LiveJob& job) {
  if (job.held.kind != JobKind::resident) return fail(Errc::invalid, "emit", "only residents emit");
  const std::lock_guard lock(job.door->mutex);
  if (job.door->host == nullptr || !job.door->emitters) return fail(Errc::closed, "emit", "the pool was closed");
  return job.emitter(job.door->emitters);
}

}  // namespace

Job::Job(std::shared_ptr<LiveJob> live) : live_(std::move(live)) {}

const std::string& Job::key() const { return live_->held.hold.key; }
const std::string& Job::payload() const { return live_->held.payload; }
std::uint64_t Job::epoch() const { return live_->held.hold.epoch; }
const std::string& Job::worker() const { return live_->held.worker; }
JobKind Job::kind() const { return live_->held.kind; }
const std::string& Job::type() const { return live_->held.type; }
std::uint32_t Job::attempt() const { return live_->held.attempt; }
const std::optional<std::string>& Job::last_checkpoint() const { return live_->held.checkpoint; }

std::stop_token Job::stop_token() const { return live_->stop_token(); }
bool Job::stop_requested() const { return live_->stop_requested(); }
std::optional<StopReason> Job::stop_reason() const { return live_->stop_reason(); }

Status Job::checkpoint(std::string bytes) {
  std::lock_guard lock(live_->door->mutex);
  if (live_->door->host == nullptr) return Failure(Error{Errc::closed, "checkpoint", "the pool was closed"});
  return ThreadHost::checkpoint(*live_, std::move(bytes));
}

Status Job::emit(std::uint64_t position, std::vector<EmitTask> tasks, const EmitOptions& options) {
  const Result<std::shared_ptr<Emitter>> emitter = emitter_of(*live_);
  if (!emitter) return Failure(emitter.error());
  if (Status users = check_users_source(options.source); !users) return users;
  if (Status users = check_users_tasks(tasks); !users) return users;
  const auto answer = std::make_shared<AwaitedEmit>();
  auto emission = std::make_shared<Emission>();
  emission->source = options.source;
  emission->position = position;
  emission->tasks = std::move(tasks);
  (*emitter)->emit(std::move(emission), options.timeout,
                   [answer](Result<std::uint64_t> result) { answer->put(std::move(result)); });
  const Result<std::uint64_t> emitted = answer->wait(options.timeout);
  return emitted ? Status() : Status(Failure(emitted.error()));
}

Result<std::uint64_t> Job::emitted(const EmitOptions& options) {
  const Result<std::shared_ptr<Emitter>> emitter = emitter_of(*live_);
  if (!emitter) return Failure(emitter.error());
  if (Status users = check_users_source(options.source); !users) return Failure(users.error());
  const auto answer = std::make_shared<AwaitedEmit>();
  (*emitter)->ask(options.source, {}, options.timeout,
                  [answer](Result<std::uint64_t> result) { answer->put(std::move(result)); });
  return answer->wait(options.timeout);
}

void Job::finish(std::string result) {
  std::lock_guard lock(live_->door->mutex);
  if (live_->door->host != nullptr) live_->door->host->end_by_itself(*live_, Outcome(std::move(result)));
}

void Job::fail(std::string error) {
  std::lock_guard lock(live_->door->mutex);
  if (live_->door->host != nullptr) live_->door->host->end_by_itself(*live_, Outcome::failed(std::move(error)));
}

}  // namespace tenure
