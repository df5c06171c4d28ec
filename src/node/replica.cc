#include "node/replica.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"

namespace tenure {
namespace {

constexpr Nanos kRetryBase = std::chrono::milliseconds(5);
constexpr Nanos kRetryCap = std::chrono::milliseconds(500);
constexpr int kFailuresSaid = 2;  // one is normal when a connection is made again
constexpr std::size_t kDigestsMax = 4096;
// The engine's thread itself may apply this much if the node is idle. More would delay its sockets.
constexpr std::size_t kInPlaceBytesMax = 16U << 10;

}  // namespace

Replica::Replica(Log& log, Loop& loop, Entropy& entropy, ReplicaOptions options, MakeMachine make_machine,
                 Effects& effects, ReplicaEvents& events)
    : log_(log),
      loop_(loop),
      options_(options),
      effects_(effects),
      events_(events),
      make_machine_(std::move(make_machine)),
      machine_(make_machine_()),
      backoff_(kRetryBase, kRetryCap, entropy),
      retry_(loop),
      rule_(options.snapshot_bytes_min),
      quiet_(loop),
      trim_(loop) {}

void Replica::start() {
  auto seen = token_.guard([this](Position stored) { snapshot_seen(stored); });
  log_.watch_snapshot([loop = &loop_, seen = std::move(seen)](Position stored) mutable {
    loop->post([seen, stored]() mutable { seen(stored); });
  });
  load();
}

void Replica::abandon() {
  outdate();
  events_.history_lost();
}

// Outstanding reads and snapshots are of a state that was given up. It may have been wrong, so nobody may load it.
void Replica::outdate() {
  ++generation_;
  quiet_.cancel();
  trim_.cancel();
  source_.reset();
  writer_.reset();
}

void Replica::resume(IfGone if_gone) {
  if_gone_ = if_gone;
  load();
}

void Replica::load() {
  outdate();
  loading_ = true;
  read_due_ = false;
  auto done = token_.guard([this, generation = generation_](Result<Snapshot> snapshot) {
    if (generation == generation_) loaded(std::move(snapshot));
  });
  log_.load_snapshot(if_gone_, [loop = &loop_, done = std::move(done)](Result<Snapshot> snapshot) mutable {
    loop->post([done = std::move(done), snapshot = std::move(snapshot)]() mutable { done(std::move(snapshot)); });
  });
}

void Replica::loaded(Result<Snapshot> snapshot) {
  loading_ = false;
  if (!snapshot) {
    if (snapshot.error().code == Errc::unavailable) return retry(snapshot.error(), &Replica::load);
    if (snapshot.error().code == Errc::no_such_pool) return events_.log_gone();
    return events_.broken(snapshot.error());
  }
  std::unique_ptr<StateMachine> machine = make_machine_();
  if (!snapshot->chunks.empty()) {
    if (Status restored = machine->restore(snapshot->chunks); !restored) return events_.broken(restored.error());
  }
  if_gone_ = IfGone::create;
  replaced_ = std::exchange(machine_, std::move(machine));
  removed_ms_ = snapshot->removed_ms;
  fell_behind_ = false;
  cursor_ = snapshot->cursor;
  applied_at_ = loop_.now();
  digests_.clear();
  weighed_.clear();
  bytes_since_ = 0;
  rule_.reset();
  retention_.reset();
  read_by_.clear();
  missing_seen_ = 0;
  if (!snapshot->chunks.empty()) retention_.note_saved(cursor_.position, bytes_applied_, loop_.now());
  in_touch();
  events_.reloaded();
  replaced_.reset();
  read_on();
}

void Replica::read(const Cursor& after) {
  if (reading_) {
    read_due_ = true;
    return;
  }
  reading_ = true;
  RunPtr run = spare_ ? std::exchange(spare_, nullptr) : std::make_shared<Run>();
  auto done = token_.guard([this, generation = generation_](const RunPtr& it) { came(generation, it); });
  log_.read(after, [loop = &loop_, run = std::move(run),
                    done = std::move(done)](Result<std::vector<Entry>>&& entries) mutable {
    run->fill(std::move(entries));
    const bool small = run->small();
    auto work = [done = std::move(done), run = std::move(run)]() mutable { done(run); };
    small ? loop->run_or_post(std::move(work)) : loop->post(std::move(work));
  });
}

void Replica::Run::fill(Result<std::vector<Entry>>&& read) {
  entries.clear();
  batches.clear();
  cursors.clear();
  error.reset();
  if (!read) {
    error = read.error();
    return;
  }
  entries = *std::move(read);
  for (const Entry& entry : entries) {
    batches.push_back(batches.empty() ? decoder.decode(entry.data) : decoder.decode_next(entry.data));
    cursors.push_back(Cursor::at(entry));
  }
}

bool Replica::Run::small() const {
  if (error) return false;
  std::size_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.data.size();
  return bytes <= kInPlaceBytesMax;
}

void Replica::came(std::uint64_t generation, const RunPtr& run) {
  reading_ = false;
  if (generation == generation_) {
    take(*run);
  } else if (run->error && run->error->code == Errc::lost_history && (loading_ || read_due_)) {
    // The read continued from a state that was given up. The engine accepts no appends until the state is loaded again.
    load();
  } else if (std::exchange(read_due_, false)) {
    read_on();
  }
  spare_ = run;
}

void Replica::take(const Run& run) {
  if (run.error) return failed(*run.error);
  in_touch();
  const std::uint64_t generation = generation_;
  read(run.cursors.back());
  for (std::size_t i = 0; i < run.entries.size(); ++i) {
    if (!apply(run.entries[i], run.cursors[i], run.batches[i]) || generation != generation_)
      return;  // the state was given up
  }
  maybe_snapshot();
}

void Replica::failed(const Error& error) {
  switch (error.code) {
    case Errc::unavailable: return retry(error, &Replica::read_on);
    // A reader behind a trim cannot prove any more that what it applied is part of the history.
    case Errc::trimmed:
    case Errc::lost_history:
      if (MUTANT(lost_history_ignored)) return load();
      fell_behind_ = error.code == Errc::trimmed;
      return abandon();
    case Errc::closed: return;
    default: return events_.broken(error);
  }
}

bool Replica::apply(const Entry& entry, const Cursor& cursor, const v1::Batch* batch) {
  machine_->apply({entry.position, entry.time_ms, entry.data}, batch, effects_);
  cursor_ = cursor;
  applied_at_ = loop_.now();
  digests_.emplace_back(entry.position, machine_->digest());
  if (digests_.size() > kDigestsMax) digests_.pop_front();
  weighed_.push_back({entry.position, entry.data.size()});
  bytes_since_ += entry.data.size();
  bytes_applied_ += entry.data.size();
  if (machine_->version() > machine_->speaks()) {
    outdate();
    events_.broken({Errc::version, "follow log",
                    "the pool has switched to machine version " + std::to_string(machine_->version()) +
                        ", this program supports " + std::to_string(machine_->speaks()) + ": use a newer one"});
    return false;
  }
  if (std::exchange(trim_due_, false) && rank_ == 0) trim();
  events_.applied();
  return true;
}

void Replica::in_touch() {
  backoff_.reset();
  if (std::exchange(failures_, 0) >= kFailuresSaid) events_.read_resumed();
}

void Replica::retry(const Error& error, void (Replica::*step)()) {
  ++failures_;
  if (failures_ == kFailuresSaid) events_.read_delayed(error);
  retry_.arm(loop_.now() + backoff_.next(), [this, step] { (this->*step)(); });
}

std::optional<std::uint64_t> Replica::digest_at(Position position) const {
  const auto at = std::lower_bound(digests_.begin(), digests_.end(), std::pair<Position, std::uint64_t>(position, 0));
  if (at == digests_.end() || at->first != position) return std::nullopt;
  return at->second;
}

void Replica::note_saved(Position position) {
  while (!weighed_.empty() && weighed_.front().position <= position) {
    bytes_since_ -= weighed_.front().bytes;
    weighed_.pop_front();
  }
  retention_.note_saved(position, bytes_applied_ - bytes_since_, loop_.now());
  trim_due_ = true;
}

void Replica::note_read(std::uint64_t session, Position position) {
  read_by_[session] = position;
  trim_due_ = true;
}

void Replica::maybe_snapshot() {
  switch (judge_snapshot()) {
    case SnapshotRule::Verdict::not_yet: return;
    case SnapshotRule::Verdict::when_quiet:
      if (!quiet_.armed()) look_for_quiet();
      return;
    case SnapshotRule::Verdict::now: return begin_snapshot();
  }
}

SnapshotRule::Verdict Replica::judge_snapshot() {
  if (!options_.snapshots || source_ || machine_->gone()) return SnapshotRule::Verdict::not_yet;
  return rule_.judge(bytes_since_, machine_->state_bytes(), rank_);
}

void Replica::look_for_quiet() {
  quiet_.arm(loop_.now() + SnapshotRule::kQuietFor, [this, before = bytes_applied_] {
    if (judge_snapshot() == SnapshotRule::Verdict::not_yet) return;
    const bool quiet = bytes_applied_ - before <= SnapshotRule::kQuietBytes;
    quiet ? begin_snapshot() : look_for_quiet();
  });
}

void Replica::begin_snapshot() {
  quiet_.cancel();
  rule_.begun(machine_->state_bytes());
  snapshot_at_ = cursor_;
  source_ = machine_->begin_snapshot();
  writer_ = log_.begin_snapshot(snapshot_at_);
  loop_.post(token_.guard([this] { write_snapshot(); }));
}

// One chunk per turn of the loop, so that entries, and beats in particular, are not delayed.
void Replica::write_snapshot() {
  if (!source_) return;
  if (std::optional<Bytes> chunk = source_->next()) {
    writer_->add(std::move(*chunk));
    loop_.post(token_.guard([this] { write_snapshot(); }));
    return;
  }
  auto done = token_.guard([this, generation = generation_](const Status& stored) {
    if (generation == generation_) end_snapshot(stored);
  });
  writer_->commit([loop = &loop_, done = std::move(done)](Status stored) mutable {
    loop->post([done = std::move(done), stored = std::move(stored)]() mutable { done(stored); });
  });
}

void Replica::end_snapshot(const Status& stored) {
  source_.reset();
  writer_.reset();
  if (!stored) {
    rule_.failed(bytes_since_);
    return;
  }
  rule_.stored();
  note_saved(snapshot_at_.position);
  trim();
  events_.snapshot_stored(snapshot_at_.position);
}

// Younger members wait for the older ones to write it.
void Replica::snapshot_seen(Position stored) {
  if (loading_ || !retention_.misses(stored, loop_.now())) {
    missing_seen_ = 0;
    return;
  }
  if (missing_seen_++ < rank_ || !options_.snapshots || source_ || machine_->gone()) return;
  begin_snapshot();
}

// Done by the eldest member, and by the one that has stored a snapshot.
void Replica::trim() {
  const Retention::Members pool = members();
  if (const auto before = retention_.take_trim(pool, loop_.now())) log_.trim(*before, [](const Status&) {});
  const std::optional<Instant> next = retention_.next(pool);
  if (!next) return trim_.cancel();
  trim_.arm(std::max(*next, loop_.now() + std::chrono::milliseconds(1)), [this] { trim(); });
}

Retention::Members Replica::members() const {
  Retention::Members pool{.read_by_all = cursor_.position, .log_bytes = bytes_applied_};
  for (const auto& [id, session] : machine_->sessions().all) {
    pool.lease = std::max<Nanos>(pool.lease, std::chrono::milliseconds(session.lease_ms));
    const auto said = read_by_.find(id);
    pool.read_by_all = std::min(pool.read_by_all, said == read_by_.end() ? 0 : said->second);
  }
  return pool;
}

}  // namespace tenure
