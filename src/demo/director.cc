#include "demo/director.h"

#include <algorithm>
#include <set>

#include "demo/demo.h"
#include "demo/human_ms.h"

namespace tenure::demo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Long enough to see that the others continue with one worker less.
constexpr Nanos kAbsence = milliseconds(2500);
constexpr Nanos kStep = milliseconds(20);

}  // namespace

Director::Director(Crew& crew, Picture& picture, const Bookkeeper& bookkeeper, Chronicle& chronicle, Inbox& inbox,
                   Ledger& probe, Nanos lease)
    : crew_(crew),
      picture_(picture),
      bookkeeper_(bookkeeper),
      chronicle_(chronicle),
      inbox_(inbox),
      probe_(probe),
      lease_(lease) {}

Status Director::gather(int workers) {
  for (int slot = 1; slot <= workers; ++slot) {
    const Result<Member> started = crew_.start(slot);
    if (!started) return Failure(started.error());
  }
  const auto complete = [&](const PoolPicture& pool) { return pool.workers.size() == std::size_t(workers); };
  // If a worker has to be started again here, it would fail again.
  wait(seconds(30), [&] { return picture_.check(complete) || !arrivals_.empty(); });
  if (inbox_.quitting() || picture_.check(complete)) return {};
  std::string words = crew_.last_words("w1");
  return fail(Errc::timed_out, "start the workers", words.empty() ? "they did not join the pool" : words);
}

void Director::play(char act) {
  switch (act) {
    case 'k': kill_one(); break;
    case 'z': freeze_one(); break;
    case 'r': rolling_restart(); break;
    case 'b': bad_deploy(); break;
    case '+': add_one(); break;
    case '-': remove_one(); break;
    default: return;
  }
  ++rounds_;
}

void Director::kill_one() {
  const std::optional<Member> victim = next_victim();
  if (!victim) return chronicle_.add("there is no worker to kill");
  const std::size_t held = picture_.copy().keys_of(victim->id);
  const bool alone = crew_.standing().size() == 1;
  // Recorded before the kill, because the pool may react before this thread runs again.
  picture_.down(victim->id, Picture::Down::killed, clock_.now());
  const Instant at = crew_.kill(victim->id);
  arrivals_.push_back({victim->slot, alone ? at : at + kAbsence});
  if (!moved_away(victim->id, 3 * lease_ + kJoin)) return;
  chronicle_.add(victim->id + " killed (-9): " + tenants(held) + " moved in " + human_ms(ms(clock_.now() - at)));
  wait_quiet();
}

void Director::freeze_one() {
  const std::optional<Member> victim = next_victim();
  if (!victim || crew_.standing().size() < 2) return chronicle_.add("a freeze needs two running workers");
  const std::size_t held = picture_.copy().keys_of(victim->id);
  const std::uint64_t refused_before = bookkeeper_.books().refused;
  const Instant at = clock_.now();
  if (!stand_still(victim->id)) return;
  chronicle_.add(victim->id + " frozen (SIGSTOP) with " + tenants(held) + "; its lease is " + human_ms(ms(lease_)));
  if (!moved_away(victim->id, 3 * lease_ + kJoin)) return crew_.thaw(victim->id);
  chronicle_.add(victim->id + "'s lease ran out: " + tenants(held) + " moved after " + human_ms(ms(clock_.now() - at)));
  // Keys that move away and keys that come back are two events, counted separately.
  wait_quiet();
  crew_.thaw(victim->id);
  tell_refused(victim->id, refused_before);
  wait(kJoin, [&] { return joined(victim->id) || !crew_.find(victim->id); });
  if (wait_settled(kJoin)) {
    const std::size_t back = picture_.copy().keys_of(victim->id);
    chronicle_.add(victim->id + " joined again under a new session: " + tenants(back) + " came back");
  }
}

// A process that is frozen inside a commit blocks the ledger, or the pool's own log, for everybody. The demo does not
// show that fault, so it resumes the process and freezes it again.
bool Director::stand_still(const std::string& id) {
  while (!inbox_.quitting()) {
    const std::uint64_t beats = picture_.copy().beats;
    picture_.down(id, Picture::Down::frozen, crew_.freeze(id));
    const bool free = probe_.free_within(milliseconds(100)) &&
                      picture_.wait(lease_ / 2, [&](const PoolPicture& pool) { return pool.beats > beats + 1; });
    if (free) return true;
    crew_.thaw(id);
    wait(lease_ / 5, [] { return false; });
    if (!crew_.find(id)) return false;
  }
  return false;
}

void Director::tell_refused(const std::string& id, std::uint64_t refused_before) {
  const bool refused = wait(seconds(5), [&] { return bookkeeper_.books().refused > refused_before; });
  if (!refused) return chronicle_.add(id + " thawed; it has tried no late write", false);
  wait(milliseconds(150), [] { return false; });  // the other refusals come in the same pass
  const Books books = bookkeeper_.books();
  const JournalLine& last = *books.last_refused;
  // The last digits distinguish two epochs of a minute.
  const auto digits = [](std::uint64_t epoch) { return "…" + std::to_string(epoch % 1'000'000'000); };
  chronicle_.add(id + " thawed: " + std::to_string(books.refused - refused_before) + " late writes refused, epoch " +
                 digits(last.epoch) + " < " + digits(last.value));
}

void Director::rolling_restart() {
  const std::vector<Member> all = crew_.standing();
  const std::uint64_t moves_before = picture_.copy().moves;
  const std::size_t samples_before = picture_.times().gap_ms.size();
  for (const Member& old : all) {
    if (!replace(old)) return;
  }
  if (!wait_settled(kJoin)) return;
  const std::uint64_t moves = picture_.copy().moves - moves_before;
  const std::size_t keys = picture_.copy().tenants.size();
  const std::string ratio = std::to_string(static_cast<double>(moves) / static_cast<double>(keys)).substr(0, 4);
  chronicle_.add("rolling restart: " + std::to_string(all.size()) + " workers, " + ratio +
                 " moves per tenant, longest gap " + human_ms(distribution(gaps_since(samples_before)).max));
}

// Those that have ended since there were so many.
std::vector<double> Director::gaps_since(std::size_t samples) const {
  const std::vector<double> gaps = picture_.times().gap_ms;
  return {gaps.begin() + static_cast<std::ptrdiff_t>(std::min(samples, gaps.size())), gaps.end()};
}

bool Director::replace(const Member& old) {
  const std::size_t held = picture_.copy().keys_of(old.id);
  const Result<Member> fresh = crew_.start(old.slot, old.id);
  if (!fresh) {
    chronicle_.add(fresh.error().message(), false);
    return false;
  }
  if (!wait(kJoin, [&] { return joined(fresh->id); })) return false;
  const Instant at = clock_.now();
  if (!moved_away(old.id, kJoin)) return false;
  chronicle_.add(fresh->id + " replaces " + old.id + ": " + tenants(held) + " handed over in " +
                 human_ms(ms(clock_.now() - at)));
  crew_.leave(old.id);
  return wait(kJoin, [&] { return !crew_.find(old.id); });
}

void Director::add_one() {
  std::set<int> taken;
  for (const Member& member : crew_.members()) taken.insert(member.slot);
  for (const Arrival& arrival : arrivals_) taken.insert(arrival.slot);
  int slot = 1;
  while (taken.contains(slot)) ++slot;
  if (slot > kWorkersMax) return chronicle_.add(std::to_string(kWorkersMax) + " workers is the maximum");
  arrivals_.push_back({slot, clock_.now()});
  wait_settled(kJoin);
}

void Director::remove_one() {
  const std::vector<Member> up = crew_.standing();
  if (up.size() < 2) return chronicle_.add("the last worker stays");
  const Member& last = up.back();
  const std::size_t held = picture_.copy().keys_of(last.id);
  const Instant at = clock_.now();
  crew_.leave(last.id);
  if (!moved_away(last.id, kJoin)) return;
  chronicle_.add(last.id + " leaves: " + tenants(held) + " handed over in " + human_ms(ms(clock_.now() - at)));
  wait(kJoin, [&] { return !crew_.find(last.id); });
}

void Director::attend() {
  for (const Departure& gone : crew_.reap()) {
    if (gone.expected) continue;
    chronicle_.add(gone.member.id + " ended by itself (" + gone.how + ") " + crew_.last_words(gone.member.id), false);
    arrivals_.push_back({gone.member.slot, clock_.now() + kAbsence});
  }
  for (Arrival& arrival : arrivals_) {
    if (!arrival.id.empty() || arrival.due > clock_.now()) continue;
    arrival.moves_before = picture_.copy().moves;
    const Result<Member> fresh = crew_.start(arrival.slot);
    if (fresh) arrival.id = fresh->id;
    if (!fresh) chronicle_.add(fresh.error().message(), false);
  }
  std::erase_if(arrivals_, [&](const Arrival& arrival) {
    if (arrival.due > clock_.now()) return false;
    if (!crew_.find(arrival.id)) return true;
    if (!joined(arrival.id) || !picture_.settle()) return false;
    chronicle_.add(arrival.id + " joined: " + tenants(picture_.copy().keys_of(arrival.id)) + " moved to it");
    return true;
  });
}

bool Director::wait_settled(Nanos patience) {
  return wait(patience, [&] {
    const std::vector<Member> members = crew_.members();
    const bool still = std::all_of(members.begin(), members.end(), [&](const Member& member) {
      return member.state == Member::State::up && joined(member.id);
    });
    return arrivals_.empty() && still && picture_.settle();
  });
}

bool Director::wait_quiet() {
  return wait(kJoin, [&] { return picture_.settle(); });
}

// Waits until the worker holds no tenant and all tenants run.
bool Director::moved_away(const std::string& id, Nanos patience) {
  return wait(patience, [&] {
    return picture_.check([&](const PoolPicture& pool) { return pool.keys_of(id) == 0 && pool.all_running(); });
  });
}

bool Director::wait(Nanos patience, const std::function<bool()>& reached) {
  const Instant deadline = clock_.now() + patience;
  while (!inbox_.quitting()) {
    attend();
    if (reached()) return true;
    if (clock_.now() >= deadline) return false;
    // The log's entries wake it, so that it measures the pool and not this wait.
    picture_.wait(kStep, [&, first = true](const PoolPicture&) mutable { return !std::exchange(first, false); });
  }
  return false;
}

std::optional<Member> Director::next_victim() {
  std::vector<Member> up = crew_.standing();
  std::erase_if(up, [&](const Member& member) { return !joined(member.id); });
  if (up.empty()) return std::nullopt;
  const auto next = std::find_if(up.begin(), up.end(), [&](const Member& one) { return one.slot > last_victim_; });
  const Member& victim = next == up.end() ? up.front() : *next;
  last_victim_ = victim.slot;
  return victim;
}

bool Director::joined(const std::string& id) const {
  return picture_.check([&](const PoolPicture& pool) { return pool.workers.contains(id); });
}

}  // namespace tenure::demo
