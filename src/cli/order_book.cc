#include "cli/order_book.h"

#include <algorithm>
#include <utility>

#include "cli/orders_settings.h"
#include "render/history.h"

namespace tenure::cli {
namespace {

constexpr std::string_view kInstance = "instance-";

}  // namespace

Bytes instance_of(BytesView worker) {
  if (worker.starts_with(kInstance)) worker.remove_prefix(kInstance.size());
  return Bytes(worker);
}

void OrderBook::granted(const At& at, const Grant& grant) {
  if (grant.kind != JobKind::task || grant.type != kOrderType) return;
  if (!only_.empty() && grant.tenure.key != only_) return;
  if (orders_.size() >= kOrdersMax) drop_old();
  OrderCourse& course = orders_[Bytes(grant.tenure.key)];
  course.attempt = grant.attempt;
  held_[grant.tenure.epoch] = grant.tenure.key;
  step(at, grant.tenure, "claimed");
}

void OrderBook::started(const At& at, const TenureRef& ref) {
  if (held_.contains(ref.epoch)) step(at, ref, "committed");
}

void OrderBook::tenure_failed(const At& /*at*/, const TenureRef& ref, BytesView error) {
  if (held_.contains(ref.epoch)) errors_[ref.epoch] = error;
}

void OrderBook::settled(const At& /*at*/, const Settlement& settlement) {
  if (settlement.state != TicketState::done || !held_.contains(settlement.epoch)) return;
  if (auto result = orders::read_run_result(settlement.text)) done_[settlement.epoch] = *std::move(result);
}

void OrderBook::ended(const At& at, const TenureRef& ref, TenureEnd why) {
  if (held_.erase(ref.epoch) == 0) return;
  if (why == TenureEnd::done) {
    step(at, ref, "completed");
  } else if (why == TenureEnd::failed) {
    step(at, ref, "failed", std::move(errors_[ref.epoch]));
  } else {
    step(at, ref, "yielded", Bytes(render::reason_of(why)));
  }
  errors_.erase(ref.epoch);
}

void OrderBook::buried(const At& at, BytesView key, std::uint64_t /*dead_id*/, bool /*quarantined*/) {
  const auto found = orders_.find(Bytes(key));
  if (found == orders_.end() || found->second.steps.empty()) return;
  OrderStep last = found->second.steps.back();
  last.event = "dead";
  last.at_ms = at.engine_ms;
  found->second.steps.push_back(std::move(last));
}

void OrderBook::step(const At& at, const TenureRef& ref, std::string_view event, Bytes reason) {
  OrderStep made{.event = event,
                 .instance = instance_of(ref.worker),
                 .epoch = ref.epoch,
                 .at_ms = at.engine_ms,
                 .reason = std::move(reason)};
  if (auto done = done_.extract(ref.epoch); event == "completed" && !done.empty()) made.result = done.mapped();
  orders_[Bytes(ref.key)].steps.push_back(std::move(made));
}

// The older half of those that are over.
void OrderBook::drop_old() {
  std::vector<std::pair<std::int64_t, Bytes>> over;
  for (const auto& [key, course] : orders_) {
    const bool ended = !course.steps.empty() && !held_.contains(course.steps.back().epoch);
    if (ended) over.emplace_back(course.steps.back().at_ms, key);
  }
  std::sort(over.begin(), over.end());
  over.resize(over.size() / 2);
  for (const auto& [at_ms, key] : over) orders_.erase(key);
}

}  // namespace tenure::cli
