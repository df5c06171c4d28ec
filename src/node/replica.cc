#include "node/replica.h"

#include <algorithm>

#include "base/mutant.h"

namespace tenure {
namespace {

constexpr Nanos kRetryBase = std::chrono::milliseconds(5);
constexpr Nanos kRetryCap = std::chrono::milliseconds(500);
constexpr std::size_t kDigestsMax = 4096;
constexpr std::size_t kSavedMax = 64;
// The log may outweigh the state this many times before a snapshot is due. To read a log again is quicker than to write
// a state, and where jobs come and go most of a snapshot is out of date before anybody could have read it.
constexpr std::uint64_t kLogToState = 2;

}  // namespace

Replica::Replica(Log& log, Loop& loop, Entropy& entropy, ReplicaOptions options, ReplicaEvents& events)
    : log_(log),
      loop_(loop),
      options_(options),
      events_(events),
      machine_(std::make_unique<Machine>()),
      backoff_(kRetryBase, kRetryCap, entropy),
      retry_(loop) {}

void Replica::start() { load(); }

void Replica::abandon() {
  ++generation_;
  events_.history_lost();
}

void Replica::resume() { load(); }

void Replica::load() {
  ++generation_;
  source_.reset();
  writer_.reset();
  auto done = token_.guard([this, generation = generation_](Result<Snapshot> snapshot) {
    if (generation == generation_) loaded(std::move(snapshot));
  });
  log_.load_snapshot([loop = &loop_, done = std::move(done)](Result<Snapshot> snapshot) mutable {
    loop->post([done = std::move(done), snapshot = std::move(snapshot)]() mutable { done(std::move(snapshot)); });
  });
}

void Replica::loaded(Result<Snapshot> snapshot) {
  if (!snapshot) {
    if (snapshot.error().code == Errc::unavailable) return retry(&Replica::load);
    return events_.broken(snapshot.error());
  }
  auto machine = std::make_unique<Machine>();
  if (!snapshot->chunks.empty()) {
    if (Status restored = machine->restore(snapshot->chunks); !restored) return events_.broken(restored.error());
  }
  machine_ = std::move(machine);
  cursor_ = snapshot->cursor;
  applied_at_ = loop_.now();
  digests_.clear();
  weighed_.clear();
  bytes_since_ = 0;
  saved_.clear();
  if (!snapshot->chunks.empty()) saved_.push_back({cursor_.position, loop_.now()});
  backoff_.reset();
  events_.reloaded();
  read();
}

void Replica::read() {
  auto done = token_.guard([this, generation = generation_](Result<std::vector<Entry>> entries) {
    if (generation == generation_) take(std::move(entries));
  });
  log_.read(cursor_, [loop = &loop_, done = std::move(done)](Result<std::vector<Entry>> entries) mutable {
    loop->post([done = std::move(done), entries = std::move(entries)]() mutable { done(std::move(entries)); });
  });
}

void Replica::take(Result<std::vector<Entry>> entries) {
  if (!entries) {
    switch (entries.error().code) {
      case Errc::unavailable: return retry(&Replica::read);
      // A reader that fell behind a trim cannot prove any more that what it applied is still part of the history.
      case Errc::trimmed:
      case Errc::lost_history:
        if (MUTANT(lost_history_ignored)) return load();
        return abandon();
      case Errc::closed: return;
      default: return events_.broken(entries.error());
    }
  }
  backoff_.reset();
  const std::uint64_t generation = generation_;
  for (const Entry& entry : *entries) {
    if (!apply(entry) || generation != generation_) return;  // the state has been given up
  }
  maybe_snapshot();
  read();
}

bool Replica::apply(const Entry& entry) {
  machine_->apply({entry.position, entry.time_ms, entry.data}, events_);
  cursor_ = Cursor::at(entry);
  applied_at_ = loop_.now();
  digests_.emplace_back(entry.position, machine_->digest());
  if (digests_.size() > kDigestsMax) digests_.pop_front();
  weighed_.push_back({entry.position, entry.data.size()});
  bytes_since_ += entry.data.size();
  if (machine_->version() > kMachineVersion) {
    ++generation_;
    events_.broken({Errc::version, "follow log",
                    "the pool has switched to machine version " + std::to_string(machine_->version()) +
                        ", this program speaks " + std::to_string(kMachineVersion) + ": use a newer one"});
    return false;
  }
  events_.applied();
  return true;
}

void Replica::retry(void (Replica::*step)()) {
  retry_.arm(loop_.now() + backoff_.next(), [this, step] { (this->*step)(); });
}

std::optional<std::uint64_t> Replica::digest_at(Position position) const {
  const auto at = std::lower_bound(digests_.begin(), digests_.end(), std::pair<Position, std::uint64_t>(position, 0));
  if (at == digests_.end() || at->first != position) return std::nullopt;
  return at->second;
}

void Replica::note_saved(Position position) {
  if (saved_.empty() || saved_.back().position < position) saved_.push_back({position, loop_.now()});
  if (saved_.size() > kSavedMax) saved_.pop_front();
  while (!weighed_.empty() && weighed_.front().position <= position) {
    bytes_since_ -= weighed_.front().bytes;
    weighed_.pop_front();
  }
}

void Replica::maybe_snapshot() {
  if (!options_.snapshots || source_ || machine_->gone()) return;
  const std::uint64_t due = std::max(options_.snapshot_bytes_min, kLogToState * machine_->state_bytes());
  if (bytes_since_ < std::max(due + due / 2 * std::min<std::size_t>(rank_, 8), not_before_)) return;
  snapshot_at_ = cursor_;
  source_ = machine_->begin_snapshot();
  writer_ = log_.begin_snapshot(snapshot_at_);
  loop_.post(token_.guard([this] { write_snapshot(); }));
}

// One chunk a turn, so that entries, and above all beats, are not held up.
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
    not_before_ = bytes_since_ + options_.snapshot_bytes_min / 4;  // the log grows on, and it is tried again
    return;
  }
  not_before_ = 0;
  note_saved(snapshot_at_.position);
  trim();
  events_.snapshot_stored(snapshot_at_.position);
}

// A living member has read one of its own beats that is younger than its lease: it has read all that this replica
// applied longer ago than that, and no trim cuts it off. What is kept now goes with a later snapshot.
void Replica::trim() {
  std::uint32_t lease_ms = 0;
  for (const auto& [id, session] : machine_->roster().sessions) lease_ms = std::max(lease_ms, session.lease_ms);
  const Instant old = loop_.now() - std::chrono::milliseconds(lease_ms) * 5 / 4;
  Position before = 0;
  while (saved_.size() > 1 && saved_.front().known <= old) {
    before = saved_.front().position;
    saved_.pop_front();
  }
  if (before != 0) log_.trim(before, [](const Status&) {});
}

}  // namespace tenure
