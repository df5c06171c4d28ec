// The act of a rolling deploy that goes wrong: every worker is replaced by one of a version that cannot start anything,
// then by one of a version that can.

#include <algorithm>

#include "demo/director.h"
#include "demo/human_ms.h"

namespace tenure::demo {
namespace {

// A worker with fewer than three tenants cannot be found out: three different ones have to fail there.
constexpr Nanos kFoundOut = std::chrono::seconds(5);
// Long enough to see that the old version goes on, and that the bad one is tried again.
constexpr Nanos kShown = std::chrono::milliseconds(2500);

}  // namespace

BadDeploys Director::bad_deploys() const {
  const std::lock_guard lock(mutex_);
  return bad_deploys_;
}

void Director::bad_deploy() {
  const std::vector<Member> all = crew_.standing();
  const std::size_t samples = picture_.times().gap_ms.size();
  BadDeploys done = bad_deploys();
  std::vector<std::pair<Member, Member>> pairs;  // the bad one, the old one
  picture_.count_anew();
  for (const Member& old : all) {
    const std::optional<Member> bad = replace_badly(old);
    if (!bad) break;
    pairs.emplace_back(*bad, old);
    ++done.workers;
    if (picture_.copy().workers[bad->id].unfit) ++done.unfit;
  }
  if (!pairs.empty()) {
    chronicle_.add("the deploy has failed: the old version goes on");
    wait(kShown, [] { return false; });
  }
  const std::uint64_t most = picture_.copy().alone_most;
  const std::vector<double> gaps = gaps_since(samples);
  done.without_holder_max = std::max(done.without_holder_max, most);
  done.gap_ms.insert(done.gap_ms.end(), gaps.begin(), gaps.end());
  {
    const std::lock_guard lock(mutex_);
    bad_deploys_ = done;
  }
  for (const auto& [bad, old] : pairs) {
    if (!replace_both(bad, old)) return;
  }
  if (pairs.empty() || !wait_settled(kJoin)) return;
  chronicle_.add("bad deploy over: at most " + tenants(most) + " without a holder, gap up to " +
                 human_ms(distribution(gaps).max));
}

std::optional<Member> Director::replace_badly(const Member& old) {
  const Result<Member> bad = crew_.start(old.slot, old.id, Crew::Version::bad);
  if (!bad) {
    chronicle_.add(bad.error().message(), false);
    return std::nullopt;
  }
  if (!wait(kJoin, [&] { return joined(bad->id); })) return std::nullopt;
  const auto found_out = [&](const PoolPicture& pool) {
    const auto life = pool.workers.find(bad->id);
    return life != pool.workers.end() && life->second.unfit && pool.keys_of(bad->id) == 0 && pool.all_running();
  };
  const bool unfit = wait(kFoundOut, [&] { return picture_.check(found_out); });
  if (inbox_.quitting()) return std::nullopt;
  PoolPicture pool = picture_.copy();
  chronicle_.add(bad->id + " (bad version): " + (unfit ? "unfit" : "not found out") + " after " +
                     std::to_string(pool.workers[bad->id].failed_starts) + " failed starts; " + old.id + " keeps " +
                     tenants(pool.keys_of(old.id)),
                 unfit);
  return *bad;
}

bool Director::replace_both(const Member& bad, const Member& old) {
  const std::size_t held = picture_.copy().keys_of(old.id);
  const Result<Member> good = crew_.start(old.slot, bad.id);
  if (!good) {
    chronicle_.add(good.error().message(), false);
    return false;
  }
  if (!wait(kJoin, [&] { return joined(good->id); })) return false;
  const Instant at = clock_.now();
  // Where the bad one was not found out, the old one keeps its tenants until it leaves.
  if (!moved_away(old.id, kFoundOut)) crew_.leave(old.id);
  if (!moved_away(old.id, kJoin)) return false;
  chronicle_.add(good->id + " replaces " + bad.id + " and " + old.id + ": " + tenants(held) + " handed over in " +
                 human_ms(ms(clock_.now() - at)));
  crew_.leave(bad.id);
  if (const auto still = crew_.find(old.id); still && still->state == Member::State::up) crew_.leave(old.id);
  return wait(kJoin, [&] { return !crew_.find(bad.id) && !crew_.find(old.id); });
}

}  // namespace tenure::demo
