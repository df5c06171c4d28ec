#include "node/healer.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/mutant.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

using std::chrono::milliseconds;

constexpr Nanos kRememberFor = std::chrono::hours(1);
constexpr Nanos kTrustedFor = std::chrono::minutes(30);  // engines keep for longer that they have removed a pool
constexpr std::uint64_t kPartsAhead = 8;                 // sent and not yet read back
// Waits this long, because members that know more may join a moment later.
constexpr Nanos kOthersMin = milliseconds(50);
constexpr Nanos kOthersMax = milliseconds(500);
// Members that remember the pool may take a while to notice the loss.
constexpr int kFragmentLeases = 2;
constexpr Nanos kAnswerTurn = milliseconds(300);
constexpr std::size_t kAnswerBytesMax = 128U << 10;
// The engine's clock may have been set back by a failover.
constexpr std::int64_t kClockSlackMs = 60'000;

// The keys of tasks that only `from` has buried, unless it has the key beside that, and the other has not.
std::set<Bytes> missing_letters(const Machine& from, const Machine& other) {
  std::set<Bytes> keys;
  for (const auto& [id, letter] : from.dead()) {
    if (letter.kind != JobKind::task) continue;
    const auto there = other.dead().find(id);
    if (there != other.dead().end() && there->second.key == letter.key) continue;
    if (!from.find(letter.key) || other.find(letter.key)) keys.insert(letter.key);
  }
  return keys;
}

// Its members were about to put the pool back into it.
bool is_open(const Machine& machine) {
  const RestorationState& state = machine.restoration();
  return state.origin == RestorationState::Origin::open &&
         (state.under_way || machine.log_time_ms() <= kRestoreWithinMs);
}

bool has_jobs(const Machine& machine) { return machine.keys() != 0 || !machine.dead().empty(); }

}  // namespace

std::string to_string(const Restored& it, bool ended) {
  const std::string as_of = "as of position " + std::to_string(it.position) + " of the log that was lost";
  if (!ended) {
    return (it.on_request ? "a member adds what it remembers, "
                          : "the log had lost everything: a member puts the pool back, ") +
           as_of;
  }
  std::string text = it.on_request ? "added " : "the pool is back: ";
  text += std::to_string(it.jobs) + " jobs of " + std::to_string(it.keys) + " keys, " + as_of +
          "; what was done after it may be done again";
  if (it.left_out != 0) {
    text += "; " + std::to_string(it.left_out) + " jobs were left out, because their keys have other jobs now";
  }
  return text;
}

Healer::Healer(Loop& loop, Appender& appender, const Options& options, HealerEvents& events)
    : loop_(loop), appender_(appender), options_(options), events_(events), forget_(loop), answer_(loop), turn_(loop) {}

void Healer::history_lost(bool lease_valid, Instant applied_at) {
  stop();
  answer_.cancel();
  question_.reset();
  const bool lately = loop_.now() - applied_at < kTrustedFor;
  lost_at_ = loop_.now();
  lost_ = lease_valid ? Doubt::none : lately ? Doubt::removal : Doubt::anything;
}

void Healer::reloaded(std::unique_ptr<Machine> last, std::optional<std::int64_t> removed_ms) {
  const std::optional<Doubt> lost = std::exchange(lost_, std::nullopt);
  stop();
  // A shutdown of the new log ends the remembered pool, too. If a log was lost while it was being loaded, only the
  // engine can tell whether it was removed.
  const bool ended = (last->shutting_down() || last->gone()) && !MUTANT(restores_ended_pool);
  const Doubt doubt = ended ? Doubt::anything : lost.value_or(Doubt::removal);
  for (Memory* earlier : {&pool_, &fragment_}) {
    earlier->doubt = std::max(doubt, earlier->doubt);
    judge(*earlier, removed_ms);
  }
  if (!lost) return choose();
  // A node that knows no state worth putting back is not somebody who begins a new pool either.
  remembered_ = {.position = last->position(), .engine_ms = last->engine_ms()};
  const bool open = is_open(*last);
  if (!open) fragment_ = {};
  if (!open || (has_jobs(*last) && !fragment_.restores)) {
    Memory& memory = open ? fragment_ : pool_;
    memory = {.state = options_.remembers ? std::move(last) : nullptr, .doubt = doubt};
    judge(memory, removed_ms);
    said_ = false;
    forget_.arm(loop_.now() + kRememberFor, [this] { forget(); });
  }
  choose();
}

// Whether the pool was certainly not shut down.
void Healer::judge(Memory& memory, std::optional<std::int64_t> removed_ms) const {
  memory.restores = false;
  if (memory.state == nullptr) return;
  const bool ended = memory.state->shutting_down() || memory.state->gone();
  const bool removed = removed_ms && *removed_ms != 0 && *removed_ms + kClockSlackMs >= memory.state->engine_ms();
  // Kept for good, because the engine may forget it.
  if ((ended || removed) && !MUTANT(restores_ended_pool)) memory.doubt = Doubt::anything;
  memory.restores = options_.on && (memory.doubt == Doubt::none || (memory.doubt == Doubt::removal && removed_ms));
}

void Healer::choose() {
  if (pool_.state == nullptr && fragment_.state == nullptr) return;
  chosen_fragment_ = pool_.state == nullptr || (fragment_.restores && !pool_.restores);
  remembered_ = {.position = chosen().position(),
                 .engine_ms = chosen().engine_ms(),
                 .restores = restores(),
                 .fragment = chosen_fragment_};
}

void Healer::forget() {
  stop();
  answer_.cancel();
  question_.reset();
  forget_.cancel();
  pool_ = {};
  fragment_ = {};
  remembered_ = {};
}

void Healer::stop() {
  turn_.cancel();
  source_.reset();
  answer_when_back_.reset();
  request_ = 0;
  waits_since_.reset();
}

void Healer::look(const Machine& present, std::uint64_t session) {
  const bool added = std::exchange(added_, false) && session != 0;
  if (!remembers()) return;
  if (request_ != 0 && source_) return go_on_with_request(present, session);
  // Jobs that are back may end. They must not come back again, from the memory of this member.
  if (added) return forget();
  if (question_ && session != 0 && !answer_.armed()) {
    present_ = &present;
    const auto before = static_cast<std::int64_t>(rank(present, session, false));
    answer_.arm(loop_.now() + kAnswerTurn * before, [this, session] { answer(*present_, session); });
  }
  const RestorationState& state = present.restoration();
  if (state.origin == RestorationState::Origin::restored && !state.under_way && !MUTANT(restored_twice)) {
    return forget();
  }
  const bool open = (is_open(present) && !present.shutting_down()) || MUTANT(restored_twice);
  if (!open || !restores() || session == 0) {
    if (session != 0 && !std::exchange(said_, true)) {
      events_.not_restored(!open ? "the log has a state of its own, and `tenure restore --from-members` compares"
                           : options_.on ? "the pool may have been shut down meanwhile"
                                         : "healing is turned off; `tenure restore --from-members` shows it");
    }
    return stop();
  }
  // Until the first of its parts has arrived, nobody goes on with what another member has left.
  const bool nobody_else = !state.under_way || state.session == session || state.session == 0;
  if (source_ && session_ == session && nobody_else) return send(present);
  source_.reset();
  wait(present, session);
}

void Healer::go_on_with_request(const Machine& present, std::uint64_t session) {
  const RestorationState& state = present.restoration();
  if (session != session_) return stop();
  const bool mine = state.request == request_ && state.session == session_;
  if (mine && !state.under_way && source_->at_end() && state.parts == sent_) {
    if (answer_when_back_) appender_.offer(*answer_when_back_);
    return forget();
  }
  // Another member was first and will answer.
  if (!mine && state.request == request_ && !state.under_way) return forget();
  if (!mine && state.under_way) return stop();
  send(present);
}

// The member that remembers most begins, or goes on where another one stopped. The others wait, each one longer than
// the one before it, and begin if nobody else has. A member that remembers more may still join while they wait.
void Healer::wait(const Machine& present, std::uint64_t session) {
  const RestorationState& state = present.restoration();
  // Parts of its own that arrived after it had stopped may have made it the one that goes on.
  const bool other = state.session != 0 && state.session != session;
  const bool busy = state.under_way && (other || MUTANT(restore_left_unfinished));
  if (session_ != session || busy || must_not_be_first(present)) waits_since_.reset();
  session_ = session;
  if (busy || must_not_be_first(present)) return turn_.cancel();
  if (!waits_since_) waits_since_ = loop_.now();
  const Nanos others = std::clamp<Nanos>(options_.lease / 20, kOthersMin, kOthersMax);
  const auto before = static_cast<std::int64_t>(rank(present, session, true));
  Instant when = *waits_since_ + others + options_.lease / 4 * before;
  if (chosen_fragment_) when = when + kFragmentLeases * options_.lease;
  if (!state.under_way) when = std::max(when, all_stopped(present));
  if (turn_.armed() && turn_.when() == when) return;
  present_ = &present;
  turn_.arm(std::max(when, loop_.now() + milliseconds(1)), [this] { begin(*present_); });
}

// True if this node has only a fragment, and another member remembers the pool.
bool Healer::must_not_be_first(const Machine& present) const {
  const auto& all = present.sessions().all;
  return chosen_fragment_ && std::any_of(all.begin(), all.end(), [](const auto& entry) {
           return entry.second.restores && !entry.second.fragment;
         });
}

// The moment from which no session of the old log runs a job: each has joined the new log, or its lease has run out.
// No beat got into the old log after its loss, so no lease was renewed.
Instant Healer::all_stopped(const Machine& present) const {
  Instant when = lost_at_;
  for (const auto& [id, old] : chosen().sessions().all) {
    const auto& now = present.sessions().all;
    const bool back = std::any_of(now.begin(), now.end(), [wanted = id](const auto& entry) {
      const auto& former = entry.second.former;
      return std::find(former.begin(), former.end(), wanted) != former.end();
    });
    if (!back) when = std::max(when, lost_at_ + milliseconds(old.lease_ms));
  }
  return when;
}

void Healer::asked(const At& /*at*/, const v1::Ask& ask) {
  if (!remembers() || !ask.has_remembered()) return;
  question_ = {.number = ask.question(), .limit = ask.remembered().limit(), .apply = ask.remembered().apply()};
}

void Healer::restored(const At& /*at*/, const Restored& it) { added_ = it.on_request; }

// The member that remembers most answers at once, the others later. The first answer counts.
void Healer::answer(const Machine& present, std::uint64_t session) {
  const Question question = *std::exchange(question_, std::nullopt);
  if (present.sessions().find(session) == nullptr) return;
  if (question.apply && (source_ || present.restoration().under_way)) return;  // who puts it back, answers
  v1::Record record;
  v1::Told& told = *record.mutable_told();
  told.set_question(question.number);
  told.set_position(present.position());
  told.set_remembered_position(chosen().position());
  told.set_remembered_ms(chosen().engine_ms());
  std::size_t bytes = 0;
  const auto compare = [&](const Machine& from, const Machine& other, auto* keys) {
    std::uint64_t count = 0;
    const auto add = [&](BytesView key) {
      ++count;
      if (static_cast<std::size_t>(keys->size()) >= question.limit || bytes >= kAnswerBytesMax) return;
      keys->Add(Bytes(key));
      bytes += key.size();
    };
    from.each_job(0, [&](const JobInfo& job) {
      if (other.find(job.key)) return true;
      add(job.key);
      return true;
    });
    for (const Bytes& key : missing_letters(from, other)) add(key);
    return count;
  };
  told.set_only_remembered_count(compare(chosen(), present, told.mutable_only_remembered()));
  told.set_only_in_log_count(compare(present, chosen(), told.mutable_only_in_log()));
  if (!question.apply || told.only_remembered_count() == 0) return appender_.offer(record);
  if (present.shutting_down()) return;
  stop();
  request_ = question.number;
  answer_when_back_ = std::move(record);
  session_ = session;
  begin(present);
}

void Healer::begin(const Machine& present) {
  waits_since_.reset();
  if (present.sessions().find(session_) == nullptr) return;
  source_ = chosen().remembered();
  source_->go_on_after(present);
  const RestorationState& state = present.restoration();
  sent_ = applied_ = state.under_way ? state.parts : 0;
  send(present);
}

void Healer::send(const Machine& present) {
  const RestorationState& state = present.restoration();
  if (state.under_way && state.session == session_) {
    if (state.parts != applied_) turn_.cancel();
    applied_ = state.parts;
  }
  while (!source_->at_end() && sent_ < applied_ + kPartsAhead) {
    v1::Record record;
    v1::Restore& part = *record.mutable_restore();
    part.set_session(session_);
    part.set_part(sent_++);
    part.set_on_request(request_ != 0);
    part.set_request(request_);
    source_->next(options_.part_bytes, part);
    appender_.offer(record);
  }
  if (turn_.armed()) return;
  // If a part was lost on its way, the machine refuses the parts behind it.
  present_ = &present;
  turn_.arm(loop_.now() + 2 * options_.lease, [this] { begin(*present_); });
}

std::size_t Healer::rank(const Machine& present, std::uint64_t session, bool of_restoring) const {
  const Session& own = *present.sessions().find(session);
  std::size_t before = 0;
  for (const auto& [id, other] : present.sessions().all) {
    if (id == session || (of_restoring ? !other.restores : other.remembers == 0)) continue;
    const auto weight = [](const Session& it) { return std::tuple(!it.fragment, it.remembers_ms, it.remembers); };
    before += weight(other) > weight(own) || (weight(other) == weight(own) && other.age < own.age) ? 1 : 0;
  }
  return before;
}

}  // namespace tenure
