#include "process/spin_policy.h"

#include <algorithm>

namespace tenure::process {
namespace {

// The weight of a new measurement in an estimate is 1/kWeight.
constexpr int kWeight = 16;

}  // namespace

void SpinPolicy::note(Nanos took) {
  if (!able_) return;
  took = std::clamp(took, Nanos(1), kTookMax);
  if (trial_left_ == 0) {
    note_usual(took);
  } else {
    note_trial(took);
  }
}

void SpinPolicy::note_usual(Nanos took) {
  Nanos& known = estimate(way_);
  known = known == Nanos(0) ? took : std::max(known + (took - known) / kWeight, Nanos(1));
  if (way_ == Way::spin && known > kSpan) {
    // Most spins find nothing. Sleeping is known to be cheaper without a trial.
    way_ = Way::block;
    estimate(Way::block) = Nanos(0);
    since_trial_ = 0;
    return;
  }
  since_trial_ = std::min(since_trial_ + 1, kGapMax);
  if (!worth_a_trial()) return;
  trial_left_ = kTrial;
  trial_bad_ = 0;
  trial_sum_ = Nanos(0);
}

bool SpinPolicy::worth_a_trial() {
  if (way_ == Way::block && estimate(Way::block) > kBlockMax) return false;
  if (since_trial_ >= gap_) return true;
  // The current way is no longer as good as the other one was at its last trial.
  const bool tried = estimate(other(way_)) != Nanos(0);
  return since_trial_ >= kGapMin && tried && better(other(way_), way_);
}

void SpinPolicy::note_trial(Nanos took) {
  --trial_left_;
  if (trial_left_ < kTrial - kSettling) trial_sum_ += took;
  // Far worse than the other way. Spinning without result counts, too.
  const bool bad = took > 2 * estimate(way_) || (way_ == Way::block && took > kSpan);
  if (bad && ++trial_bad_ == kBadMax) return end_trial(took);
  if (trial_left_ == 0) end_trial(trial_sum_ / (kTrial - kSettling));
}

void SpinPolicy::end_trial(Nanos estimate_now) {
  trial_left_ = 0;
  since_trial_ = 0;
  estimate(other(way_)) = estimate_now;
  if (better(other(way_), way_)) {
    way_ = other(way_);
    gap_ = kGapMin;
  } else {
    gap_ = std::min(2 * gap_, kGapMax);
  }
}

// Spinning uses processor time, so it has to be faster by a fifth. This also prevents alternating.
bool SpinPolicy::better(Way way, Way than) {
  const Nanos mine = estimate(way);
  const Nanos its = estimate(than);
  return way == Way::spin ? mine * 5 < its * 4 : mine < its;
}

}  // namespace tenure::process
