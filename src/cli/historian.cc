#include "cli/historian.h"

#include <utility>

#include "node/keys/listing.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {

// Reads the state at the start of the log and the first entry after it from what the state keeps.
void Historian::applied(const Machine& machine) {
  if (!std::exchange(loaded_, true)) history_ = kept_history(tell_history(machine, key_));
  for (const auto& event : std::exchange(fresh_, {})) event(machine.engine_ms());
}

void Historian::granted(const At&, const Grant& grant) {
  if (grant.tenure.key != key_) return;
  fresh_.emplace_back([this, epoch = grant.tenure.epoch, worker = Bytes(grant.tenure.worker)](std::int64_t now_ms) {
    if (!history_.empty() && history_.back().epoch >= epoch) return;
    Tenure tenure;
    tenure.epoch = epoch;
    tenure.worker = worker;
    tenure.granted_ms = now_ms;
    history_.push_back(tenure);
  });
}

void Historian::started(const At&, const TenureRef& ref) {
  with(ref, [](Tenure& tenure, std::int64_t now_ms) {
    if (!tenure.started_ms) tenure.started_ms = now_ms;
  });
}

void Historian::tenure_failed(const At&, const TenureRef& ref, BytesView error) {
  with(ref,
       [error = Bytes(error.substr(0, kPastErrorBytesMax))](Tenure& tenure, std::int64_t) { tenure.error = error; });
}

void Historian::ended(const At&, const TenureRef& ref, TenureEnd why) {
  with(ref, [why](Tenure& tenure, std::int64_t now_ms) {
    tenure.ended_ms = now_ms;
    tenure.reason = render::reason_of(why);
  });
}

void Historian::buried(const At&, BytesView key, std::uint64_t /*dead_id*/, bool quarantined) {
  if (key != key_ || !quarantined) return;
  fresh_.emplace_back([this](std::int64_t) {
    if (!history_.empty()) history_.back().reason = render::kQuarantine;
  });
}

void Historian::with(const TenureRef& ref, std::function<void(Tenure&, std::int64_t)> change) {
  if (ref.key != key_) return;
  fresh_.emplace_back([this, epoch = ref.epoch, change = std::move(change)](std::int64_t now_ms) {
    for (Tenure& tenure : history_) {
      if (tenure.epoch == epoch) change(tenure, now_ms);
    }
  });
}

}  // namespace tenure::cli
