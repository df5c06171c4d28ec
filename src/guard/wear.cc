#include "guard/wear.h"

#include <algorithm>

namespace tenure::guard {
namespace {

std::string span_text(Nanos span) { return std::to_string(to_ms(span)) + " ms"; }

}  // namespace

bool WearLimits::any() const {
  return jobs != 0 || age > Nanos(0) || idle > Nanos(0) || weighs() || job_time > Nanos(0) || age_hard > Nanos(0);
}

WearLimits WearLimits::drawn(Entropy& entropy) const {
  WearLimits own = *this;
  own.jobs = lowered(jobs, jitter, entropy);
  own.age = Nanos(static_cast<Nanos::rep>(lowered(static_cast<std::uint64_t>(age.count()), jitter, entropy)));
  return own;
}

std::uint64_t lowered(std::uint64_t limit, double share, Entropy& entropy) {
  const auto slack = static_cast<std::uint64_t>(static_cast<double>(limit) * share);
  return slack == 0 ? limit : limit - entropy.below(slack + 1);
}

Judgement judge(const WearLimits& limits, const Worn& worn, Instant now, std::string_view job) {
  using What = Judgement::What;
  Judgement found;
  // True if the span is over. Otherwise its end counts for `left`.
  const auto over = [&](Nanos limit, Instant since) {
    if (limit <= Nanos(0)) return false;
    const Nanos left = since + limit - now;
    if (left > Nanos(0)) found.left = std::min(found.left, left);
    return left <= Nanos(0);
  };
  const auto worn_out = [&](std::string why) {
    if (found.what == What::fit) found.why = std::move(why);
    found.what = What::worn_out;
  };
  if (over(limits.age_hard, worn.started)) {
    return {What::killed, "its life took longer than " + span_text(limits.age_hard)};
  }
  if (over(limits.job_time, worn.busy_since.value_or(now))) {
    return {What::overdue, "a " + std::string(job) + " took longer than " + span_text(limits.job_time)};
  }
  const std::string uses = "it uses " + std::to_string(worn.memory_bytes) + " bytes of memory";
  if (limits.memory_bytes_hard != 0 && worn.memory_bytes > limits.memory_bytes_hard) return {What::killed, uses};
  if (limits.memory_bytes != 0 && worn.memory_bytes > limits.memory_bytes) worn_out(uses);
  if (limits.jobs != 0 && worn.jobs >= limits.jobs) {
    worn_out("it has served " + std::to_string(worn.jobs) + " " + std::string(job) + "s");
  }
  if (over(limits.age, worn.started)) worn_out("it is older than " + span_text(limits.age));
  if (over(limits.idle, worn.free_since.value_or(now))) worn_out("it was free for " + span_text(limits.idle));
  return found;
}

}  // namespace tenure::guard
