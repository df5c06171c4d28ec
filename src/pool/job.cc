#include <tenure/job.hpp>

#include "pool/live_job.h"
#include "pool/thread_host.h"

namespace tenure {

Job::Job(std::shared_ptr<LiveJob> live) : live_(std::move(live)) {}

const std::string& Job::key() const { return live_->held.hold.key; }
const std::string& Job::payload() const { return live_->held.payload; }
std::uint64_t Job::epoch() const { return live_->held.hold.epoch; }
const std::string& Job::worker() const { return live_->held.worker; }
JobKind Job::kind() const { return live_->held.kind; }
const std::string& Job::type() const { return live_->held.type; }
std::uint32_t Job::attempt() const { return live_->held.attempt; }
const std::optional<std::string>& Job::last_checkpoint() const { return live_->last_checkpoint; }

std::stop_token Job::stop_token() const { return live_->stop_token(); }
bool Job::stop_requested() const { return live_->stop_requested(); }
std::optional<StopReason> Job::stop_reason() const { return live_->stop_reason(); }

Status Job::checkpoint(std::string bytes) {
  std::lock_guard lock(live_->door->mutex);
  if (live_->door->host == nullptr) return Failure(Error{Errc::closed, "checkpoint", "the pool was closed"});
  return ThreadHost::checkpoint(*live_, std::move(bytes));
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
