#include "demo/picture.h"

#include <algorithm>

namespace tenure::demo {
namespace {

constexpr Nanos kQuiet = std::chrono::milliseconds(300);
constexpr std::size_t kHistoryMax = 12;
// Bounds a demo that runs all night. Later samples replace earlier ones.
constexpr std::size_t kSamplesMax = 1U << 16;

const char* text_of(TenureEnd why) {
  switch (why) {
    case TenureEnd::handoff: return "handed over";
    case TenureEnd::stopped: return "stopped";
    case TenureEnd::done: return "done";
    case TenureEnd::failed: return "failed";
    case TenureEnd::left: return "worker left";
    case TenureEnd::fenced: return "fenced itself";
    case TenureEnd::crashed: return "process died";
    case TenureEnd::expired: return "lease ran out";
  }
  return "?";
}

void keep(std::vector<double>& samples, double sample) {
  if (samples.size() >= kSamplesMax) samples.erase(samples.begin(), samples.begin() + kSamplesMax / 2);
  samples.push_back(sample);
}

Holders holders(const PoolPicture& picture) {
  Holders all;
  for (const auto& [key, tenant] : picture.tenants) all[key] = tenant.session;
  return all;
}

double ms_between(Instant from, Instant to) {
  return std::chrono::duration<double, std::milli>(std::max(to - from, Nanos(0))).count();
}

}  // namespace

std::size_t PoolPicture::keys_of(const std::string& worker) const {
  return static_cast<std::size_t>(std::count_if(tenants.begin(), tenants.end(), [&](const auto& entry) {
    return entry.second.phase != Tenant::Phase::waiting && entry.second.worker == worker;
  }));
}

bool PoolPicture::all_running() const {
  return std::all_of(tenants.begin(), tenants.end(),
                     [](const auto& entry) { return entry.second.phase == Tenant::Phase::running; });
}

Picture::Picture(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) picture_.tenants[key].since = clock_.now();
}

void Picture::down(const std::string& worker, Down how, Instant at) {
  std::lock_guard lock(mutex_);
  blows_[worker] = {how, at};
}

PoolPicture Picture::copy() const {
  std::lock_guard lock(mutex_);
  PoolPicture copied = picture_;
  // Moves in progress had to happen as far as they got.
  copied.moves_needed += moves_needed(settled_, holders(picture_));
  return copied;
}

PictureTimes Picture::times() const {
  std::lock_guard lock(mutex_);
  return times_;
}

void Picture::count_anew() {
  std::lock_guard lock(mutex_);
  picture_.alone_most = picture_.alone;
}

bool Picture::check(const std::function<bool(const PoolPicture&)>& reached) const {
  std::lock_guard lock(mutex_);
  return reached(picture_);
}

bool Picture::wait(Nanos patience, const std::function<bool(const PoolPicture&)>& reached) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return reached(picture_); });
}

bool Picture::settle() {
  std::lock_guard lock(mutex_);
  if (!picture_.all_running() || picture_.moving || clock_.now() - picture_.last_change < kQuiet) return false;
  Holders now = holders(picture_);
  picture_.moves_needed += moves_needed(settled_, now);
  settled_ = std::move(now);
  return true;
}

void Picture::applied(const Machine& machine) {
  const WorkerTable& workers = machine.workers();
  const bool moving = std::any_of(workers.by_age.begin(), workers.by_age.end(),
                                  [&](WorkerIx ix) { return workers[ix].moving > 0 || workers[ix].starting > 0; });
  {
    std::lock_guard lock(mutex_);
    picture_.moving = moving;
  }
  changed_.notify_all();
}

// With the lock held.
Tenant* Picture::tenant(const TenureRef& ref, Tenant::Phase phase) {
  const auto found = picture_.tenants.find(std::string(ref.key));
  if (found == picture_.tenants.end()) return nullptr;
  found->second.phase = phase;
  found->second.since = clock_.now();
  picture_.last_change = found->second.since;
  return &found->second;
}

void Picture::granted(const At&, const Grant& grant) {
  std::lock_guard lock(mutex_);
  Tenant* const of = tenant(grant.tenure, Tenant::Phase::starting);
  if (of == nullptr) return;
  if (of->session != 0 && of->session != grant.tenure.session) ++picture_.moves;
  of->worker = std::string(grant.tenure.worker);
  of->session = grant.tenure.session;
  if (of->history.size() == kHistoryMax) of->history.pop_front();
  of->history.push_back({.epoch = grant.tenure.epoch, .worker = of->worker, .granted = of->since});
}

void Picture::started(const At&, const TenureRef& ref) {
  std::lock_guard lock(mutex_);
  Tenant* const of = tenant(ref, Tenant::Phase::running);
  if (of == nullptr || of->history.empty()) return;
  of->history.back().started = of->since;
  if (!of->gap_from) return;
  const double gap_ms = ms_between(*of->gap_from, of->since);
  of->history.back().gap_ms = gap_ms;
  keep(times_.gap_ms, gap_ms);
  if (of->killed) keep(times_.takeover_ms, gap_ms);
  of->gap_from.reset();
  --picture_.alone;
  of->killed = false;
}

void Picture::stop_asked(const At&, const TenureRef& ref, StopReason /*reason*/) {
  std::lock_guard lock(mutex_);
  tenant(ref, Tenant::Phase::stopping);
}

void Picture::ended(const At&, const TenureRef& ref, TenureEnd why) {
  std::lock_guard lock(mutex_);
  Tenant* const of = tenant(ref, Tenant::Phase::waiting);
  if (of == nullptr) return;
  if (!of->history.empty()) {
    of->history.back().ended = of->since;
    of->history.back().reason = text_of(why);
  }
  const auto life = picture_.workers.find(of->worker);
  if (why == TenureEnd::failed && life != picture_.workers.end()) ++life->second.failed_starts;
  const auto blow = blows_.find(of->worker);
  if (!of->gap_from) {
    of->gap_from = blow == blows_.end() ? of->since : blow->second.at;
    picture_.alone_most = std::max(picture_.alone_most, ++picture_.alone);
  }
  if (blow != blows_.end() && blow->second.how == Down::killed) of->killed = true;
}

void Picture::beat_seen(const At&, const SeenBeat& beat) {
  std::lock_guard lock(mutex_);
  ++picture_.beats;
  for (auto& [id, worker] : picture_.workers) {
    if (worker.session == beat.session) worker.last_beat = clock_.now();
  }
}

void Picture::worker_added(const At&, std::uint64_t session, BytesView worker) {
  std::lock_guard lock(mutex_);
  picture_.last_change = clock_.now();
  picture_.workers[std::string(worker)] = {session, picture_.last_change};
  blows_.erase(std::string(worker));
}

void Picture::worker_unfit(const At&, std::uint64_t /*session*/, BytesView worker, BytesView /*error*/) {
  std::lock_guard lock(mutex_);
  picture_.workers[std::string(worker)].unfit = true;
}

void Picture::worker_fit(const At&, std::uint64_t /*session*/, BytesView worker) {
  std::lock_guard lock(mutex_);
  picture_.workers[std::string(worker)].unfit = false;
}

void Picture::worker_removed(const At&, std::uint64_t /*session*/, BytesView worker) {
  std::lock_guard lock(mutex_);
  picture_.last_change = clock_.now();
  picture_.workers.erase(std::string(worker));
}

}  // namespace tenure::demo
