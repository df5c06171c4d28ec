#include "exec/host_sessions.h"

namespace tenure::exec {

void HostSessions::begin(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  ++live_[session];
}

void HostSessions::end(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  const auto live = live_.find(session);
  if (live == live_.end() || --live->second > 0) return;
  live_.erase(live);
  emptier_.notify_all();
}

bool HostSessions::wait_ended(std::uint64_t session, Nanos patience) {
  std::unique_lock lock(mutex_);
  return emptier_.wait_for(lock, patience, [&] { return !live_.contains(session); });
}

void HostSessions::lease_until(std::uint64_t session, Instant guarded) {
  const std::lock_guard lock(mutex_);
  guarded_until_[session] = guarded;
}

void HostSessions::lease_over(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  fenced_.erase(session);
  guarded_until_.erase(session);
}

void HostSessions::fence(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  fenced_.insert(session);
}

bool HostSessions::is_fenced(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  return fenced_.contains(session);
}

bool HostSessions::is_ending(std::uint64_t session) {
  const std::lock_guard lock(mutex_);
  const auto until = guarded_until_.find(session);
  return fenced_.contains(session) || (until != guarded_until_.end() && BootClock().now() >= until->second);
}

}  // namespace tenure::exec
