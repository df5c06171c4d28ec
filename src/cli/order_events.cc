#include "cli/order_events.h"

#include <chrono>

#include "machine/limits.h"
#include "render/history.h"

namespace tenure::cli {
namespace {

std::int64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

void OrderEvents::write(const Event& event) {
  if (event.name == "granted") {
    {
      const std::lock_guard lock(mutex_);
      own_[event.epoch];
    }
    return say("claimed", event.key, event.epoch, {});
  }
  if (event.name == "started") return say("committed", event.key, event.epoch, {});
  // The log says how a tenure has ended.
  if (event.epoch != 0) return;
  say(event.name, {}, 0, event.reason);
}

void OrderEvents::tenure_failed(const At&, const TenureRef& ref, BytesView error) {
  const std::lock_guard lock(mutex_);
  if (const auto found = own_.find(ref.epoch); found != own_.end()) found->second = error;
}

void OrderEvents::ended(const At&, const TenureRef& ref, TenureEnd why) {
  Bytes error;
  {
    const std::lock_guard lock(mutex_);
    const auto found = own_.find(ref.epoch);
    if (found == own_.end()) return;
    error = std::move(found->second);
    own_.erase(found);
    if (why == TenureEnd::done || why == TenureEnd::failed) ++over_;
  }
  if (why == TenureEnd::done) return say("completed", ref.key, ref.epoch, {});
  if (why != TenureEnd::failed) return say("yielded", ref.key, ref.epoch, render::reason_of(why));
  failed_epoch_ = ref.epoch;
  failed_key_ = ref.key;
  say("failed", ref.key, ref.epoch, error);
}

// It comes with the record that reports the last failure.
void OrderEvents::buried(const At&, BytesView key, std::uint64_t /*dead_id*/, bool /*quarantined*/) {
  if (failed_epoch_ != 0 && key == failed_key_) say("dead", key, failed_epoch_, {});
  failed_epoch_ = 0;
}

void OrderEvents::say(std::string_view name, BytesView order, std::uint64_t epoch, std::string_view reason) {
  Gathered line;
  if (json_) {
    Json json;
    json.object().field("event", name);
    order.empty() ? json.null("order") : json.field("order", order);
    epoch == 0 ? json.null("epoch") : json.field("epoch", epoch);
    instance_.empty() ? json.null("instance") : json.field("instance", instance_);
    json.field("at_ms", now_ms());
    reason.empty() ? json.null("reason") : json.field("reason", reason);
    line.document(json.end());
  } else {
    std::string text(name);
    if (!order.empty()) text += " " + Bytes(order) + " (epoch " + std::to_string(epoch) + ")";
    if (!instance_.empty()) text += " instance " + instance_;
    if (!reason.empty()) text += ": " + std::string(reason);
    line.line(text);
  }
  write_line(line);
}

}  // namespace tenure::cli
