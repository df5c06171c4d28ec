#include "cli/historian.h"

#include <algorithm>
#include <utility>

#include "node/keys/listing.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

constexpr std::string_view kQuarantine = "quarantine";

std::string_view reason_of(TenureEnd why) {
  switch (why) {
    case TenureEnd::handoff: return "handoff";
    case TenureEnd::stopped: return "stop";
    case TenureEnd::done: return "done";
    case TenureEnd::failed: return "failed";
    case TenureEnd::left: return "leave";
    case TenureEnd::fenced: return "fenced";
    case TenureEnd::crashed:
    case TenureEnd::expired: return "crash";
  }
  return "";
}

// Epochs begin with the engine's time; of very many grants at one time the last ones lie a little later.
std::int64_t granted_ms(const v1::ListedTenure& tenure) {
  auto ms = static_cast<std::int64_t>(tenure.epoch() / 1000);
  if (tenure.started_ms() != 0) ms = std::min(ms, tenure.started_ms());
  if (tenure.why_plus_one() != 0) ms = std::min(ms, tenure.ended_ms());
  return ms;
}

}  // namespace

std::vector<Tenure> kept_history(const v1::Told& told) {
  std::vector<Tenure> history;
  for (const v1::ListedTenure& listed : told.history()) {
    Tenure tenure;
    tenure.epoch = listed.epoch();
    tenure.worker = listed.worker();
    tenure.granted_ms = granted_ms(listed);
    if (listed.started_ms() != 0) tenure.started_ms = listed.started_ms();
    if (listed.why_plus_one() != 0) {
      tenure.ended_ms = listed.ended_ms();
      tenure.reason = listed.quarantined() ? kQuarantine : reason_of(static_cast<TenureEnd>(listed.why_plus_one() - 1));
    }
    history.push_back(std::move(tenure));
  }
  return history;
}

std::vector<Tenure> with_gaps(std::vector<Tenure> history) {
  for (std::size_t i = 1; i < history.size(); ++i) {
    const Tenure& before = history[i - 1];
    Tenure& tenure = history[i];
    if (tenure.started_ms && before.ended_ms) tenure.gap_ms = *tenure.started_ms - *before.ended_ms;
  }
  return history;
}

// The state that the log begins with, and the first entry after it, are known by what the state keeps.
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

void Historian::ended(const At&, const TenureRef& ref, TenureEnd why) {
  with(ref, [why](Tenure& tenure, std::int64_t now_ms) {
    tenure.ended_ms = now_ms;
    tenure.reason = reason_of(why);
  });
}

void Historian::buried(const At&, BytesView key, std::uint64_t /*dead_id*/, bool quarantined) {
  if (key != key_ || !quarantined) return;
  fresh_.emplace_back([this](std::int64_t) {
    if (!history_.empty()) history_.back().reason = kQuarantine;
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
