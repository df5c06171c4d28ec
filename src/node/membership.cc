#include "node/membership.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/mutant.h"
#include "machine/limits.h"
#include "node/records.h"

namespace tenure {
namespace {

constexpr int kJoinsMissedMax = 5;
constexpr std::uint64_t kBeatsPerDigest = 5;
constexpr std::uint64_t kBytesPerBeat = 8U << 20;

KnownDeath& known_death_of(const NodeWorld& world) {
  static NoKnownDeath none;
  return world.known_death == nullptr ? none : *world.known_death;
}

}  // namespace

Membership::Membership(const NodeWorld& world, const NodeOptions& options, Appender& appender, Replica& replica,
                       KeysPart* keys, NodeEvents& listener, MembershipEvents& events)
    : world_(world),
      options_(options),
      appender_(appender),
      replica_(replica),
      keys_(keys),
      listener_(listener),
      events_(events),
      known_death_(known_death_of(world)),
      heart_({.log = world.log,
              .loop = world.loop,
              .heart_loop = world.heart_loop,
              .clock = world.clock,
              .entropy = world.entropy,
              .holder = world.host,
              .events = listener},
             heart_callbacks()),
      observer_(world.loop, [&replica]() -> const SessionTable& { return replica.machine().sessions(); }, *this) {
  known_death_.tell([loop = &world.loop, known = token_.guard([this](std::uint64_t session) {
    observer_.known_dead(session);
  })](std::uint64_t session) mutable { loop->post([known, session]() mutable { known(session); }); });
}

Membership::~Membership() { known_death_.tell(nullptr); }

HeartLine::NodeSide Membership::heart_callbacks() {
  return {
      .armed = token_.guard([this](std::uint64_t session) { lease_armed(session); }),
      .lost = token_.guard([this](std::uint64_t session) {
        if (session == session_) fence(FenceReason::lease_lost);
      }),
  };
}

void Membership::join(const Remembered& remembered) {
  phase_ = Phase::joining;
  session_ = world_.entropy.id();
  former_.push_back(session_);
  if (std::ssize(former_) > kFormerMax) former_.pop_front();
  seen_join_ = false;
  join_position_.reset();
  known_death_.hold(session_);
  v1::Record record;
  v1::Join& join = *record.mutable_join();
  join.set_session(session_);
  join.set_node(options_.name);
  join.set_host(options_.host);
  join.set_pid(options_.pid);
  join.set_lease_ms(static_cast<std::uint32_t>(to_ms(options_.lease)));
  join.set_speaks(machine().speaks());
  join.set_epoch_floor(epoch_seen_);
  join.set_chooses(options_.choose != nullptr);
  encode_config(options_.config, *join.mutable_configure());
  join.set_remembers(remembered.position);
  join.set_remembers_ms(remembered.engine_ms);
  join.set_restores(remembered.restores);
  join.set_fragment(remembered.fragment);
  join.set_log(machine().origin());
  for (const std::uint64_t former : former_) {
    if (remembered.position != 0 && former != session_) join.add_former(former);
  }
  appender_.offer(record, {.sent = [this, session = session_](Instant /*sent*/) { join_sent(session); },
                           .appended = [this, session = session_](Position at) { join_appended(session, at); }});
}

void Membership::join_sent(std::uint64_t session) {
  heart_.post([session, lease = options_.lease, speaks = machine().speaks()](Heart& heart) {
    heart.begin(session, lease, speaks);
  });
}

// Another entry must follow, so that a join that was lost or refused is noticed.
void Membership::join_appended(std::uint64_t session, Position position) {
  if (session != session_) return;
  join_position_ = position;
  appender_.offer(tick_record());
}

// A join that was acknowledged and is not in the state. The log may have lost it. If that happens repeatedly, the
// machine refuses it: the pool has rules that this program does not support, or is full.
bool Membership::check_join() {
  if (!joining() || seen_join_ || !join_position_ || replica_.position() < *join_position_) return true;
  if (!machine().gone() && ++joins_missed_ < kJoinsMissedMax) {
    replica_.abandon();
    return false;
  }
  events_.not_taken();
  return false;
}

// The join and a beat came back, and the heart watches the lease: from now on keys may be held.
void Membership::lease_armed(std::uint64_t session) {
  if (session != session_ || !joining()) return;
  phase_ = Phase::member;
  observer_.set_own(session_, options_.lease);
  listener_.joined(session_);
  keys_->begin(session_, [this] { return lease_until(); });
  check_leaving();
}

// Everything that this session holds is stopped before anything else.
void Membership::fence(FenceReason reason) {
  if (!alive()) return;
  phase_ = Phase::fenced;
  observer_.set_own(0, {});
  events_.fencing();
  listener_.fenced(session_, reason);
  keys_->fence([this, session = session_, reason] {
    heart_.post([session](Heart& heart) { heart.end(session); });
    known_death_.let_go(session);
    events_.stopped(session, reason);
  });
}

void Membership::stop() {
  phase_ = Phase::outside;
  if (keys_ != nullptr) keys_->end();
  if (session_ != 0) known_death_.let_go(session_);
  heart_.post([session = session_](Heart& heart) { heart.end(session); });
}

void Membership::check_leaving() {
  if (!member() || !keys_->handing_over()) return;
  if (keys_->hand_over() && keys_->closing()) leave();
}

// The node holds nothing and will not: a grant in flight is ignored. The end of the session follows it in the log and
// lets the next worker have the key.
void Membership::leave() {
  phase_ = Phase::leaving;
  keys_->leave();
  appender_.offer_behind_requests(end_record(session_, v1::End::LEFT));  // after requests that were made before
}

void Membership::write_end(std::uint64_t session, v1::End::Reason reason) {
  appender_.offer(end_record(session, reason));
}

void Membership::reloaded() {
  roster_changed_ = true;
  digests_.clear();
  observer_.reset();
  epoch_seen_ = std::max(epoch_seen_, machine().epoch_last());
}

// The current history may still have sessions that this node gave up: the last one, and earlier ones whose ends were
// lost. Until they are over, nobody gets their keys.
void Membership::reached_end() {
  for (const std::uint64_t former : former_) {
    if (machine().sessions().find(former) != nullptr) write_end(former, v1::End::FENCED);
  }
  caught_up_ = true;
  for (const auto& [session, state] : machine().sessions().all) {
    if (session != session_) known_death_.watch(session);
  }
}

// Under heavy load the others could trim much between two beats. Then send a beat at once.
void Membership::note_read() {
  heart_.note_read(replica_.position());
  epoch_seen_ = std::max(epoch_seen_, machine().epoch_last());
  if (!member() || replica_.bytes_applied() - bytes_said_ < kBytesPerBeat) return;
  bytes_said_ = replica_.bytes_applied();
  touch_wanted();
}

void Membership::note_applied() {
  if (std::exchange(roster_changed_, false)) update_rank();
  if (!std::exchange(digest_due_, false)) return;
  heart_.post([position = replica_.position(), digest = machine().digest()](Heart& heart) {
    heart.note_digest(position, digest);
  });
}

void Membership::update_rank() {
  const Session* own = machine().sessions().find(session_);
  rank_ = own == nullptr ? std::nullopt : std::optional(machine().sessions().rank(*own));
  if (rank_) replica_.set_rank(*rank_);
}

void Membership::joined(const At& at, std::uint64_t session) {
  roster_changed_ = true;
  if (!living(session)) {
    if (caught_up_) known_death_.watch(session);
    return observer_.heard(session, at.position);
  }
  seen_join_ = true;
  joins_missed_ = 0;
  heart_.post([session](Heart& heart) { heart.joined(session); });
}

void Membership::beat_seen(const At& at, const SeenBeat& beat) {
  replica_.note_read(beat.session, beat.read);
  if (living(beat.session)) {
    heart_.post([session = beat.session, number = beat.number](Heart& heart) { heart.confirmed(session, number); });
    observer_.in_touch();
    digest_due_ = ++own_beats_ % kBeatsPerDigest == 0;
    return;
  }
  if (MUTANT(beat_confirms_any)) heart_.post([own = session_](Heart& heart) { heart.confirm_newest(own); });
  observer_.heard(beat.session, at.position);
  if (beat.digest_position != 0) compare(beat);
}

void Membership::compare(const SeenBeat& beat) {
  const std::optional<std::uint64_t> own = replica_.digest_at(beat.digest_position);
  if (!own) return;
  const bool agrees = *own == beat.digest;
  digests_.note(beat.session, agrees);
  if (agrees || !member()) return;
  if (digests_.outvoted(session_, machine().sessions().eldest()->id)) diverged_ = beat.digest_position;
}

void Membership::session_ended(const At& /*at*/, std::uint64_t session, SessionEnd how) {
  roster_changed_ = true;
  observer_.forget(session);
  replica_.forget_reader(session);
  known_death_.forget(session);
  digests_.forget(session);
  if (!living(session)) return;
  if (phase_ == Phase::leaving && how == SessionEnd::left) return events_.left();
  fence(FenceReason::expired);
}

void Membership::suspect(std::uint64_t session, Position last_beat) {
  v1::Record record;
  record.mutable_expire()->set_session(session);
  record.mutable_expire()->set_last_beat(last_beat);
  appender_.offer(record);
}

void Membership::gone(std::uint64_t session) { write_end(session, v1::End::CRASHED); }

void Membership::touch_wanted() {
  heart_.post([](Heart& heart) { heart.beat_now(); });
}

}  // namespace tenure
