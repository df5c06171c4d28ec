#include "cli/work_events.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/utf8.h"
#include "machine/limits.h"

namespace tenure::cli {
namespace {

std::int64_t wall_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Json document_of(const WorkEvents::Event& event) {
  Json json;
  json.object().field("event", event.name);
  event.key.empty() ? json.null("key") : json.field("key", event.key);
  event.epoch == 0 ? json.null("epoch") : json.field("epoch", event.epoch);
  event.worker.empty() ? json.null("worker") : json.field("worker", event.worker);
  json.field("at_ms", wall_ms());
  event.reason.empty() ? json.null("reason") : json.field("reason", event.reason);
  return json.end();
}

std::string text_of(const WorkEvents::Event& event) {
  std::string line(event.name);
  if (!event.key.empty()) line += " " + std::string(event.key) + " (epoch " + std::to_string(event.epoch) + ")";
  if (!event.worker.empty()) line += " on " + std::string(event.worker);
  if (!event.reason.empty()) line += ": " + std::string(event.reason);
  return line;
}

}  // namespace

void WorkEvents::write(const Event& event) {
  Gathered line;
  if (json_) {
    line.document(document_of(event));
  } else {
    line.line(text_of(event));
  }
  write_line(line);
}

void WorkEvents::write_line(const Gathered& line) {
  std::lock_guard lock(mutex_);
  gathered_.add(line);
  if (gathering_ == 0) gathered_.write();
}

void WorkEvents::together(const std::function<void()>& what) {
  {
    std::lock_guard lock(mutex_);
    ++gathering_;
  }
  what();
  std::lock_guard lock(mutex_);
  if (--gathering_ == 0) gathered_.write();
}

void ToldHost::start(HeldJob job) {
  reports_->granted(job);
  {
    const std::lock_guard lock(mutex_);
    if (jobs_max_ != 0 && begun_ == jobs_max_) {
      held_.push_back(std::move(job));
      return;
    }
    ++begun_;
  }
  host_.start(std::move(job));
}

bool ToldHost::release_held(const std::function<bool(const HeldJob&)>& which) {
  std::vector<HeldJob> released;
  {
    const std::lock_guard lock(mutex_);
    std::vector<HeldJob> kept;
    for (HeldJob& job : held_) (which(job) ? released : kept).push_back(std::move(job));
    held_ = std::move(kept);
  }
  for (const HeldJob& job : released) reports_->released(job.hold);
  return !released.empty();
}

void ToldReports::granted(const HeldJob& job) {
  {
    std::lock_guard lock(mutex_);
    workers_[job.hold.epoch] = job.worker;
  }
  events_.write({"granted", job.hold.key, job.hold.epoch, job.worker, to_string(job.kind)});
}

void ToldReports::write(std::string_view name, const Hold& hold, std::string_view reason, bool last) {
  Bytes worker;
  {
    std::lock_guard lock(mutex_);
    const auto found = workers_.find(hold.epoch);
    if (found != workers_.end()) worker = found->second;
    if (found != workers_.end() && last) workers_.erase(found);
  }
  events_.write({name, hold.key, hold.epoch, worker, reason});
}

void ToldReports::started(const Hold& hold) {
  write("started", hold, "", false);
  node_.started(hold);
}

void ToldReports::begun(const Hold& hold) {
  write("started", hold, "", false);
  node_.begun(hold);
}

void ToldReports::finished(const Hold& hold, Bytes result) {
  write("stopped", hold, "done", true);
  node_.finished(hold, std::move(result));
}

void ToldReports::failed(const Hold& hold, Next next, Bytes error, Nanos delay) {
  write("failed", hold, cut_at_character(error, kErrorBytesMax), true);  // the pool keeps no more of it either
  node_.failed(hold, next, std::move(error), delay);
}

void ToldReports::released(const Hold& hold) {
  write("stopped", hold, "", false);
  write("released", hold, "", true);
  node_.released(hold);
}

void ToldReports::released(const Hold& hold, Bytes blob) {
  write("stopped", hold, "", false);
  write("released", hold, "", true);
  node_.released(hold, std::move(blob));
}

}  // namespace tenure::cli
